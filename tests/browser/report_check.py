#!/usr/bin/env python3
"""The report in a real browser: tests/browser/report_check.py GAZE [FOLDER for screenshots]

Makes a report of a photograph with the bundled model and uses it as a person does: by mouse, by keyboard, on a phone, in
the dark, on paper. Needs Debian's chromium, chromium-driver and python3-selenium.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

ROOT = pathlib.Path(__file__).resolve().parents[2]
PHOTO = "tests/photos/red_panda.jpg"
GAZE = SHOTS = None

PIXEL = """
const canvas = document.getElementById(arguments[0]), x = Math.floor(arguments[1] * canvas.width), y = Math.floor(arguments[2] * canvas.height);
return [...canvas.getContext('2d').getImageData(x, y, 1, 1).data];
"""


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        out = pathlib.Path(cls.folder.name)
        done = subprocess.run([GAZE, "overlay", PHOTO, "--out", out, "--format", "html,npy", "--maps", "cross,cbam,gradcam",
                               "--beam", "3", "--best", "3"], cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        cls.page = next(out.rglob("report.html"))
        cls.downloads = out / "downloads"
        options = webdriver.ChromeOptions()
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--force-device-scale-factor=1"):
            options.add_argument(argument)
        options.add_experimental_option("prefs", {"download.default_directory": str(cls.downloads)})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        cls.browser = webdriver.Chrome(options=options)

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()
        cls.folder.cleanup()

    def setUp(self):
        self.size(1280, 900)
        self.browser.get(self.page.as_uri())
        WebDriverWait(self.browser, 30).until(lambda b: b.find_elements(By.CSS_SELECTOR, "body[data-ready]"))
        self.data = json.loads(self.browser.execute_script("return document.getElementById('data').textContent"))

    def size(self, width, height):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                     {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def words(self):
        return self.browser.find_elements(By.CSS_SELECTOR, "#words button")

    def chosen(self):
        return [i for i, word in enumerate(self.words()) if word.get_attribute("aria-selected") == "true"]

    def picture(self):
        return self.browser.execute_script("return document.getElementById('picture').toDataURL()")

    def shot(self, name):
        if SHOTS:
            self.browser.save_screenshot(str(SHOTS / f"{name}.png"))

    def map_of(self, word, kind="cross"):
        return next(m for m in self.data["captions"][0]["words"][word]["maps"] if m["kind"] == kind)

    def place_of_peak(self, found):
        """The middle of the strongest cell, as shares of the picture."""
        a, b, c, d, e, f = found["from_image"]
        best = max(range(len(found["values"])), key=lambda i: found["values"][i])
        column, row = best % found["cols"] + 0.5, best // found["cols"] + 0.5
        determinant = a * e - b * d
        x = (e * (column - c) - b * (row - f)) / determinant
        y = (a * (row - f) - d * (column - c)) / determinant
        return x / self.data["width"], y / self.data["height"]

    def sharpest(self):
        return max(range(len(self.words())), key=lambda i: self.data["captions"][0]["words"][i]["peak_lift"])

    def test_nothing_is_fetched_and_nothing_goes_wrong(self):
        urls = set()
        for entry in self.browser.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                urls.add(message["params"]["request"]["url"].split(":")[0])
        self.assertLessEqual(urls, {"file", "data", "blob"})
        errors = [entry for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"]
        self.assertEqual(errors, [])
        self.shot("page")

    def test_words_are_chosen_by_mouse_and_keyboard(self):
        said = [word["text"] for word in self.data["captions"][0]["words"]]
        self.assertEqual([w.get_attribute("title") for w in self.words()], said)
        self.assertEqual(self.chosen(), [0])
        first = self.picture()
        self.words()[1].click()
        self.assertEqual(self.chosen(), [1])
        self.assertNotEqual(self.picture(), first)
        ActionChains(self.browser).send_keys(Keys.ARROW_RIGHT).perform()
        self.assertEqual(self.chosen(), [2])
        ActionChains(self.browser).send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT).perform()
        self.assertEqual(self.chosen(), [0])
        ActionChains(self.browser).move_to_element(self.words()[2]).perform()
        self.assertEqual(self.chosen(), [2])

    def test_the_strongest_cell_has_the_top_colour_and_uniform_cells_none(self):
        word = self.sharpest()
        self.words()[word].click()
        script = "const e = document.getElementById(arguments[0]); e.type === 'checkbox' ? e.checked = arguments[1] : e.value = arguments[1]; e.dispatchEvent(new Event('input'));"
        for name, value in (("smooth", False), ("contours", False), ("opacity", "1"), ("scale", "own")):
            self.browser.execute_script(script, name, value)
        x, y = self.place_of_peak(self.map_of(word))
        top = [int(self.data["colormaps"]["viridis"][6 * 255 + i:6 * 255 + i + 2], 16) for i in (0, 2, 4)]
        self.assertEqual(self.browser.execute_script(PIXEL, "picture", x, y)[:3], top)
        coloured = self.picture()
        self.browser.execute_script(script, "colormap", "inferno")
        self.assertNotEqual(self.picture(), coloured)
        self.browser.execute_script(script, "opacity", "0")
        plain = self.picture()
        self.words()[(word + 1) % len(self.words())].click()
        self.assertEqual(self.picture(), plain)

    def test_pointing_ranks_the_words_there(self):
        word = self.sharpest()
        x, y = self.place_of_peak(self.map_of(word))
        box = self.find("#picture")
        width, height = box.size["width"], box.size["height"]
        ActionChains(self.browser).move_to_element_with_offset(box, round((x - 0.5) * width), round((y - 0.5) * height)).perform()
        lines = [line.text for line in self.browser.find_elements(By.CSS_SELECTOR, "#here li")]
        self.assertEqual(len(lines), len(self.words()))
        self.assertTrue(lines[0].startswith(self.data["captions"][0]["words"][word]["text"]), lines)
        values = [float(line.rsplit(" ", 3)[1]) for line in lines]
        self.assertEqual(values, sorted(values, reverse=True))
        self.shot("pointing")

    def test_other_maps_stand_beside_with_their_rank_correlation(self):
        others = self.browser.find_elements(By.CSS_SELECTOR, "#others figcaption")
        self.assertEqual(len(others), 1 + len(self.data["gates"]))
        for caption in others:
            self.assertTrue(-1 <= float(caption.text.rsplit(" ", 1)[1]) <= 1, caption.text)
        before = self.picture()
        ActionChains(self.browser).send_keys(Keys.ARROW_DOWN).perform()
        self.assertEqual(self.find("#kind").get_attribute("value"), "gradcam")
        self.assertNotEqual(self.picture(), before)
        self.shot("gradcam")

    def test_other_captions_are_shown(self):
        buttons = self.browser.find_elements(By.CSS_SELECTOR, "#captions button")
        self.assertEqual(len(buttons), len(self.data["captions"]))
        buttons[1].click()
        self.assertEqual([w.get_attribute("title") for w in self.words()], [w["text"] for w in self.data["captions"][1]["words"]])

    def test_what_is_shown_can_be_saved(self):
        for button in ("save-png", "save-csv", "save-json"):
            self.find(f"#{button}").click()
        WebDriverWait(self.browser, 10).until(
            lambda _: len([p for p in self.downloads.glob("*.*") if p.suffix in (".png", ".csv", ".json")]) >= 3)
        rows = next(self.downloads.glob("*.csv")).read_text().split()
        found = self.map_of(0)
        self.assertEqual([float(v) for row in rows for v in row.split(",")], found["values"])
        self.assertEqual(json.loads(next(self.downloads.glob("*.json")).read_text())["file"], PHOTO)

    def test_it_fits_a_phone_the_dark_and_paper(self):
        self.size(390, 844)
        self.assertLessEqual(self.browser.execute_script("return document.documentElement.scrollWidth"), 390)
        self.shot("phone")
        self.size(1280, 900)
        light = self.browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]})
        dark = self.browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        self.assertNotEqual(light, dark)
        self.shot("dark")
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
        self.assertEqual(self.find("aside").value_of_css_property("display"), "none")
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})

    def test_the_picture_says_in_words_where_the_map_is(self):
        word = self.sharpest()
        self.words()[word].click()
        x, y = self.place_of_peak(self.map_of(word))
        label = self.find("#picture").get_attribute("aria-label")
        self.assertIn(f'"{self.data["captions"][0]["words"][word]["text"]}"', label)
        self.assertIn(f"{100 * x:.0f} % from the left and {100 * y:.0f} % from the top", label)


if __name__ == "__main__":
    GAZE = str(pathlib.Path(sys.argv[1]).resolve())
    if len(sys.argv) > 2:
        SHOTS = pathlib.Path(sys.argv[2]).resolve()
        SHOTS.mkdir(parents=True, exist_ok=True)
    unittest.main(argv=sys.argv[:1])
