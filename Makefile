# Every target sets up what it needs; PYTHON=python3.13 uses that one, in an environment of its own.
PYTHON  ?= python3
PORT    ?= 8501
WORKERS ?= 3
ARGS    ?=

run_env  = venv=$$(.ci/environment run "$(PYTHON)") && bin="$$venv/bin/python"
test_env = venv=$$(.ci/environment test "$(PYTHON)") && bin="$$venv/bin/python"
compile  = -m uv pip compile pyproject.toml --universal --python-version 3.11 --no-annotate --quiet \
           --generate-hashes \
           --custom-compile-command "make lock" $(ARGS)

# Each arena of glibc's malloc keeps gaps between blocks that live on. app.py limits their number as well, but
# only once threads of Streamlit have three.
export MALLOC_ARENA_MAX = 1

# Every worker of the tests and every process that they start would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run demo test test-long mutants lint format docs docs-serve bench presets calibration lock sbom audit clean

help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' Makefile

run: ## Start the dashboard on http://127.0.0.1:8501 (PORT=… for another port)
	@$(run_env) && exec "$$bin" -m streamlit run app.py --server.port=$(PORT)

demo: ## Load the demo data, then start the dashboard
	@$(run_env) && "$$bin" -m recdash demo && exec "$$bin" -m streamlit run app.py --server.port=$(PORT)

test: ## Linters, contracts and tests (ARGS="-k leaderboard" for some of them)
	@$(test_env) && exec "$$bin" -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

test-long: ## The tests that take minutes
	@$(test_env) && exec "$$bin" -m pytest -m long $(ARGS)

mutants: ## Run mutation tests of recdash/metrics: docs/mutation-testing.md
	@$(test_env) && "$$venv/bin/mutmut" run --max-children $(WORKERS) $(ARGS) && "$$venv/bin/mutmut" results

lint: ## Linters and contracts only
	@$(test_env) && exec "$$bin" -m pytest -p no:randomly tests/setup/test_linters.py $(ARGS)

format: ## Format the code, and apply the linter's automatic fixes
	@$(test_env) && "$$bin" -m ruff check --fix --quiet --exit-zero . && "$$bin" -m ruff format .

docs: ## Build the documentation's site in docs-site; a broken link fails
	@$(test_env) && NO_MKDOCS_2_WARNING=1 exec "$$bin" -m mkdocs build --strict $(ARGS)

docs-serve: ## Show the documentation's site while its pages are edited (ARGS="--dev-addr 127.0.0.1:8001")
	@$(test_env) && NO_MKDOCS_2_WARNING=1 exec "$$bin" -m mkdocs serve $(ARGS)

bench: ## Measure recdash, the read limit and other libraries: benchmarks/README.md (ARGS="--only us")
	@$(run_env) && exec "$$bin" -m benchmarks $(ARGS)

presets: ## Compare each preset with its library: docs/presets.md (ARGS="--only recbole")
	@$(run_env) && exec "$$bin" -m benchmarks.presets $(ARGS)

calibration: ## Measure how often a verdict is wrong: docs/calibration.md (ARGS="--tries 200" for a quick look)
	@$(test_env) && failed=0; \
	for part in calibration calibration_estimates calibration_interleaving calibration_small_tests \
	  calibration_values calibration_quantiles calibration_quantile_segments calibration_diagnosis \
	  calibration_gates; \
	do "$$bin" -m benchmarks.$$part $(ARGS) || failed=1; done; exit $$failed

lock: ## Update the pinned versions from the ranges in pyproject.toml (ARGS=--upgrade for the newest)
	@$(test_env) && "$$bin" -m pip install --quiet uv \
	&& "$$bin" $(compile) --extra postgres --output-file requirements.txt \
	&& "$$bin" $(compile) --extra dev --extra docs --extra mcp --extra postgres --constraint requirements.txt \
	   --output-file tests/requirements.txt

sbom: ## Write sbom.json: a CycloneDX bill of materials of what users install
	@$(test_env) && "$$bin" -m pip install --quiet uv \
	&& "$$bin" -m uv tool run --quiet --from cyclonedx-bom==7.5.0 cyclonedx-py requirements \
	   --pyproject pyproject.toml --output-reproducible --output-file sbom.json $(ARGS) requirements.txt

audit: ## Look up known vulnerabilities of the pinned versions (asks pypi.org)
	@$(test_env) && "$$bin" -m pip install --quiet uv \
	&& "$$bin" -m uv tool run --quiet pip-audit==2.10.1 --strict --require-hashes --disable-pip $(ARGS) \
	   --requirement requirements.txt

clean: ## Remove environments and caches; recdash-data stays
	rm -rf .venv .venv-3.* .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache .coverage docs-site \
	  benchmarks/.cache mutants
	find recdash pages tests -name __pycache__ -type d -exec rm -rf {} +
