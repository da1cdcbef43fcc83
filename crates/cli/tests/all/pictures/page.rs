//! The browser: a page, or a part of it, as a picture.

use std::path::Path;
use std::process::Command;

use plimsoll_testkit::browser::Browser;
use serde_json::json;

use super::folder;
use super::list::{Picture, View};

/// Space around a picture's content, in pixels.
const MARGIN: f64 = 14.0;
/// Higher than any page that is shown as a whole: the first layout must not be cut.
const HIGH: u32 = 4000;

pub(super) fn browser() -> Browser {
    Browser::start("pictures").unwrap_or_else(|| panic!("needs chromium"))
}

/// Takes a picture of a page in this folder.
pub(super) fn take(browser: &mut Browser, pages: &Path, picture: &Picture) {
    let page = std::fs::read_to_string(pages.join(picture.page).with_extension("html")).unwrap();
    browser.size(picture.width, HIGH);
    browser.media("", picture.scheme);
    browser.open(&page);
    take_shown(browser, picture);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// Opens the page of a running program.
pub(super) fn visit(browser: &mut Browser, address: &str, picture: &Picture) {
    browser.size(picture.width, HIGH);
    browser.media("", picture.scheme);
    browser.visit(address);
}

/// Takes a picture of the page that the browser shows.
pub(super) fn take_shown(browser: &mut Browser, picture: &Picture) {
    let mut top = 0.0;
    let height = match picture.view {
        View::Top(height) => f64::from(height),
        View::Until(last) => edge(browser, &[last], "bottom") + MARGIN,
        View::Only(selectors) => {
            remove_others(browser, selectors);
            top = (edge(browser, selectors, "top") - MARGIN).max(0.0);
            edge(browser, selectors, "bottom") + MARGIN - top
        }
        View::DrillDown(row, height) => {
            browser.size(picture.width, height);
            let buttons = "Array.from(document.querySelectorAll('[data-part=table-operation] button'))";
            browser.click(&format!("{buttons}.find(button => button.dataset.key === {})", json!(row)));
            browser.next_frame();
            browser.value("document.getElementById('drill-down').scrollIntoView({ behavior: 'instant' })");
            top = browser.value("scrollY").as_f64().unwrap_or_default();
            f64::from(height)
        }
    };
    // The drill-down stays where it was scrolled to.
    if !matches!(picture.view, View::DrillDown(..)) {
        browser.size(picture.width, (top + height).ceil() as u32);
    }
    browser.next_frame();
    let file = folder().join(picture.name).with_extension("png");
    browser.picture_of(&file, (0.0, top, f64::from(picture.width), height));
    compress(&file);
}

/// The lowest or highest edge of these elements on the page.
fn edge(browser: &mut Browser, selectors: &[&str], side: &str) -> f64 {
    let extreme = if side == "top" { "min" } else { "max" };
    let found = browser.value(&format!(
        "(edges => edges.length ? Math.{extreme}(...edges) : null)({}.flatMap(selector => [...document.querySelectorAll(selector)])\
         .map(element => (element.closest('figure') || element).getBoundingClientRect().{side} + scrollY))",
        json!(selectors)
    ));
    found.as_f64().unwrap_or_else(|| panic!("the page has none of {selectors:?}"))
}

/// Removes everything that is not in these elements and does not contain one.
fn remove_others(browser: &mut Browser, selectors: &[&str]) {
    browser.value(&format!(
        "(wanted => document.body.querySelectorAll('*').forEach(element => {{ \
         const stays = element.tagName === 'SCRIPT' || wanted.some(one => one.contains(element) || element.contains(one)); \
         if (!stays) element.remove(); }}))({}.flatMap(selector => [...document.querySelectorAll(selector)]))",
        json!(selectors)
    ));
    // Charts follow a change of their width in the next frame, and are drawn in the one after it.
    browser.next_frame();
    browser.next_frame();
}

/// Stores the picture with 256 colours, which takes a third of the space. Without pngquant it stays as it is.
fn compress(file: &Path) {
    let mut pngquant = Command::new("pngquant");
    pngquant.args(["--force", "--skip-if-larger", "--strip", "--ext", ".png", "256"]).arg(file);
    // It ends with an error if the file would grow.
    let _ = pngquant.output();
}
