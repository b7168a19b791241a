"""The dialog Share: links, saved views, and the HTML for a wiki."""
