"""Reports on the page Reports & decisions."""
