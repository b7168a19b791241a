"""Everything around pages: the start, sign-in, navigation, the frame, and the first steps."""
