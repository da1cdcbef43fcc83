//! Sizes of pages.

use super::*;

/// Ceiling for a typical page, bytes.
const TYPICAL: usize = 2_000_000;
/// Ceiling for any page, bytes.
const LARGEST: usize = 6_000_000;

#[test]
fn typical_pages_are_small() {
    let page = crate::page(&busy());
    assert!(page.len() < TYPICAL, "{} bytes, {} of them data", page.len(), embedded(&page).len());
}

/// Ten million operations or ninety thousand: a page is made of statistics, and those are bounded.
#[test]
fn a_page_does_not_grow_with_the_traffic() {
    let few = busy();
    let mut many = few.clone();
    let times = |n: &mut u64| *n *= 120;
    for row in many.operations.iter_mut().chain(&mut many.groups) {
        let sums = row.payload_bytes.iter_mut().chain(&mut row.wire_bytes);
        sums.chain([&mut row.count, &mut row.answered]).for_each(times);
        row.distribution.iter_mut().for_each(|bucket| times(&mut bucket.count));
    }
    many.heat_maps.iter_mut().flat_map(|map| &mut map.cells).for_each(|cell| times(&mut cell.2));
    many.series.operations.iter_mut().chain(&mut many.series.read_bytes).for_each(times);
    assert!(many.groups.iter().map(|row| row.count).sum::<u64>() > 10_000_000);
    let (few, many) = (crate::page(&few).len(), crate::page(&many).len());
    assert!(many < few * 11 / 10, "{few} bytes become {many}: digits only");
}

/// Every cell of every heat map in use, every bin, all breakdown rows: the largest page that there can be.
#[test]
fn the_largest_page_is_below_its_bound() {
    let mut findings = busy();
    let edges_s: Vec<f64> = (0..=82).map(|i| 1e-6 * 10_f64.powf(f64::from(i) / 10.0)).collect();
    let full: Vec<(u32, u32, u64)> =
        (0..300).flat_map(|column| (0..82).map(move |row| (column, row, 123_456))).collect();
    for map in &mut findings.heat_maps {
        (map.columns, map.edges_s, map.cells) = (300, edges_s.clone(), full.clone());
    }
    let page = crate::page(&findings);
    assert!(page.len() < LARGEST, "{} bytes with {} heat maps", page.len(), findings.heat_maps.len());
}
