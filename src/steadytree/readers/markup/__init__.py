"""PMML and ONNX, which any tool may have written."""
