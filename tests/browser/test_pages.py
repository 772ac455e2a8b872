"""Reports and the built site in a browser: no error on the console, nothing wider than a phone, pictures with a text.

The environment variable DFOREST_TEST_BROWSER names a Chromium, such as /usr/bin/chromium, and DFOREST_TEST_SITE the folder of the
built site. Without the first, these tests are skipped; without the second, those of the site are.
"""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import dforest

BROWSER = os.environ.get("DFOREST_TEST_BROWSER")
SITE = os.environ.get("DFOREST_TEST_SITE")
PHONE, DESK = 390, 1280  # pixels
playwright = pytest.importorskip("playwright.sync_api") if BROWSER else None
pytestmark = pytest.mark.skipif(not BROWSER, reason="DFOREST_TEST_BROWSER names no browser")

# Elements that stick out of the page, but for those in a box that scrolls.
TOO_WIDE = """() => {
  const scrolls = e => e && (['auto', 'scroll', 'hidden'].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
  return document.documentElement.scrollWidth <= innerWidth ? [] : [...document.body.querySelectorAll('*')]
    .filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !scrolls(e.parentElement))
    .map(e => e.outerHTML.slice(0, 120));
}"""
WITHOUT_TEXT = """() => [...document.querySelectorAll('img, svg[role=img]')].filter(e => e.tagName === 'IMG'
    ? !e.hasAttribute('alt') : !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.querySelector('title')))
  .map(e => e.outerHTML.slice(0, 120))"""


def survival():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    y = np.column_stack([rng.random(200) < 0.6, np.round(rng.exponential(np.exp(X[:, 0])), 2) + 0.1])
    return dforest.RandomSurvivalForest(10, random_state=0).fit(X, y).report(X, y)


def ranking():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    y, queries = np.clip(np.round(X[:, 0] + rng.standard_normal(300)), 0, 4).astype(int), np.repeat(np.arange(30), 10)
    model = dforest.HistGradientBoostingRanker(max_iter=10, random_state=0).fit(X, y, qid=queries)
    return model.report(X, y, qid=queries)


def two_outputs():
    X, y = load_diabetes(return_X_y=True)
    y = np.column_stack([y, X[:, 2]])
    return dforest.RandomForestRegressor(10, random_state=0).fit(X, y).report(X, y, output=1)


def of_model(model, load):
    def report():
        X, y = load(return_X_y=True)
        return model.fit(X, y).report(X, y)

    return report


REPORTS = {
    "classes": of_model(dforest.RandomForestClassifier(10, oob_score=True, random_state=0), load_iris),
    "two classes": of_model(dforest.HistGradientBoostingClassifier(max_iter=10, random_state=0), load_breast_cancer),
    "numbers": of_model(dforest.RandomForestRegressor(10, oob_score=True, random_state=0), load_diabetes),
    "boosted numbers": of_model(dforest.HistGradientBoostingRegressor(max_iter=10, random_state=0), load_diabetes),
    "outliers": lambda: dforest.IsolationForest(10, random_state=0).fit(load_iris().data).report(load_iris().data),
    "survival": survival,
    "ranking": ranking,
    "outputs": two_outputs,
}


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(
            executable_path=BROWSER,
            args=["--no-sandbox", *(f"--disable-{name}" for name in ("gpu", "background-networking", "sync"))],
        )
        yield opened
        opened.close()


def faults(browser, path):
    """What is wrong with a page of HTML: list of str."""
    found, page = [], browser.new_page()
    page.on("console", lambda said: said.type == "error" and found.append(f"console: {said.text}"))
    page.on("pageerror", lambda error: found.append(f"error: {error}"))
    page.on("requestfailed", lambda request: found.append(f"not found: {request.url}"))
    for width in (DESK, PHONE):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(Path(path).resolve().as_uri())
        found += [f"at {width} pixels, too wide: {element}" for element in page.evaluate(TOO_WIDE)]
        found += [f"without a text: {element}" for element in page.evaluate(WITHOUT_TEXT)]
    page.close()
    return found


@pytest.mark.parametrize("kind", REPORTS)
def test_reports(browser, tmp_path, kind):
    REPORTS[kind]().save(tmp_path / "report.html")
    assert not faults(browser, tmp_path / "report.html")


def test_faults_are_found(browser, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(
        '<meta name="viewport" content="width=device-width"><script>undefined.a</script><img src="gone.png">'
        '<div style="width: 600px">wide</div><svg role="img"></svg>'
    )
    found = " ".join(faults(browser, path))
    for fault in ("error: ", "not found: ", "at 390 pixels, too wide: <div", "without a text: <img", "without a text: <svg"):
        assert fault in found
    assert "at 1280" not in found


@pytest.mark.skipif(not SITE, reason="DFOREST_TEST_SITE names no folder")
def test_the_site(browser):
    pages = [path for path in sorted(Path(SITE).rglob("*.html")) if not re.search(r"_static|_modules|_sources", str(path))]
    assert len(pages) > 50
    found = {str(path.relative_to(SITE)): faults(browser, path) for path in pages}
    assert not {page: what for page, what in found.items() if what}
