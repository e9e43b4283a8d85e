"""Every reader and writer: a folder for each family of formats, behind the contract alone."""
