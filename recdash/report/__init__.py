"""Reports: what a question's answer says, as values, and the forms in which it is written.

``document`` holds the values, ``blocks`` make them, ``forms`` write them; ``checking`` compares two.
"""
