"""What stands around every page: start, sign-in, navigation, the frame, the first steps."""
