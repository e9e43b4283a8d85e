"""An adversary who has what was published, knows how it was made, and solves for single people."""
