"""ONNX, in and out."""
