"""Access control of the web server: authentication, share links, and the security headers of every
response.
"""
