"""One Chromium for all tests; none where there is none."""

import pytest

pytest.importorskip("playwright")

from clew.environments.web import Web, chromium_path

if chromium_path() is None:
    pytest.skip("there is no Chromium here", allow_module_level=True)


@pytest.fixture(scope="session")
def web():
    environment = Web(answer_s=30.0)
    yield environment
    environment.close()


@pytest.fixture
def opened(web, tmp_path):
    """Open a page of one's own; closed when the test ends."""
    from ._pages import page

    sessions = []

    def of(body, seed=0, **options):
        files = options.pop("files", {})
        options.setdefault("settle", {"rule": "quiet", "quiet_ms": 40, "cap_ms": 3_000})
        application = page(tmp_path / f"app{len(sessions)}", body, **files)
        sessions.append(web.open(web.start("open", seed, application=application, **options)))
        return sessions[-1]

    yield of
    for session in sessions:
        session.close()
