"""Reports and digests about the experiments of a workspace.

``document`` defines a report as values, ``sections`` make them, ``formats`` write them as files, and
``reproduce`` checks a file by making its report again.
"""
