"""The gate of a pipeline: rules that a candidate must keep to against a baseline, and whether it does."""

from recdash.decisions.gate.result import EXIT_CODES, GateResult, RuleResult
from recdash.decisions.gate.rules import GateRule, read_rule, read_rules

__all__ = ["EXIT_CODES", "GateResult", "GateRule", "RuleResult", "read_rule", "read_rules"]
