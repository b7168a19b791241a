"""Whether offline metrics and A/B tests agree, and how well metrics have called tests so far."""
