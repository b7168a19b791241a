"""Reports and digests over a workspace: what a question's answer says, and the forms in which it is written.

``document`` holds the values, ``sections`` make them, ``formats`` write them; ``reproduce`` makes them again.
"""
