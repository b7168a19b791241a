"""One file for each library; its name is that of the preset."""
