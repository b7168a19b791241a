"""Simulated A/B tests with known effects and deliberate faults."""

from recdash.demo.ab_tests.ab_tests import Simulated, simulate

__all__ = ["Simulated", "simulate"]
