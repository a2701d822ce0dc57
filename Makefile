# make demo   set up, run the embedded example, print the path of its report
# make test   set up, run every test
# make check  set up, then lint, format and types
# make lock   pin the newest versions (needs uv)
PYTHON ?= python3
BIN := .venv/bin
CODE := src tests tools bench

.PHONY: demo test check lock

demo:
	@$(PYTHON) tools/setup.py run
	@$(BIN)/clew run examples/tabletop.toml

test:
	@$(PYTHON) tools/setup.py dev
	@$(BIN)/python tools/test.py

check:
	@$(PYTHON) tools/setup.py dev
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/ruff format --check $(CODE)
	@$(BIN)/mypy

# Universal: one lock for every Python from 3.10 on. The smaller lists are held to dev.txt.
COMPILE := uv pip compile --quiet --upgrade --universal --python-version 3.10 --generate-hashes \
	--no-emit-index-url --no-annotate --no-header
HELD := $(COMPILE) --constraint requirements/dev.txt
lock:
	$(COMPILE) --extra tabletop --extra gymnasium --extra fast --extra web --extra desktop --group dev pyproject.toml -o requirements/dev.txt
	$(HELD) --extra tabletop --extra fast --group build pyproject.toml -o requirements/run.txt
	$(HELD) --group pyproject.toml:tests -o requirements/tests.txt
