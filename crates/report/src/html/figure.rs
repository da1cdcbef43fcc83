//! A figure: a drawing area that the script fills, a static picture for readers without scripts, and a sentence for those who cannot see
//! it.

use super::chart::Chart;
use super::data;
use super::picture;
use super::untrusted::Untrusted;
use maud::{Markup, html};
use serde::Serialize;

/// One or several charts in one place; with several, the reader chooses.
pub(super) struct Figure<'a> {
    /// Unique in the page; a word.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// How to read it.
    pub(super) explanation: &'static str,
    /// For readers who cannot see the picture.
    pub(super) summary: String,
    /// What there is to choose from: "Operations of".
    pub(super) choose: &'static str,
    /// At least one; the first is shown first, and on paper. Each has a name, which a lone chart does not need.
    pub(super) charts: Vec<(String, Chart<'a>)>,
}

impl<'a> Figure<'a> {
    /// A figure of a single chart; none where that would be empty.
    pub(super) fn of(
        about: (&'static str, &'static str),
        explanation: &'static str,
        summary: String,
        chart: Chart<'a>,
    ) -> Option<Self> {
        let (id, title) = about;
        let figure = Figure { id, title, explanation, summary, choose: "", charts: vec![(String::new(), chart)] };
        figure.if_any()
    }

    /// Itself, without charts that have nothing to draw; none where no chart has.
    pub(super) fn if_any(mut self) -> Option<Self> {
        self.charts.retain(|(_, chart)| !chart.is_empty());
        (!self.charts.is_empty()).then_some(self)
    }

    /// The figure's markup; [`embedded`] has the script's data.
    pub(super) fn markup(&self) -> Markup {
        let id = self.id;
        let first = self.charts.first();
        let legend = first.filter(|(_, chart)| chart.series.len() > 1);
        html! {
            figure id={ "figure-" (id) } aria-labelledby={ "title-" (id) } {
                figcaption {
                    h3 id={ "title-" (id) } { (self.title) }
                    p { (self.explanation) }
                }
                div.live {
                    div.controls data-for=(id) {}
                    div.chart data-chart=(id) role="img" tabindex="0" aria-label=(Untrusted(&self.summary)) aria-describedby="keys" {}
                }
                div.static {
                    @if let Some((_, chart)) = first {
                        svg viewBox=(picture::VIEW_BOX) role="img" aria-label=(Untrusted(&self.summary)) { (picture::draw(chart)) }
                    }
                    @if let Some((_, chart)) = legend {
                        ul.legend { @for series in &chart.series {
                            li { i class={ "swatch s" (series.color % picture::COLORS) } {} (Untrusted(&series.name)) }
                        } }
                    }
                }
            }
        }
    }
}

/// The script's data, as JSON that is safe inside an element.
pub(super) fn embedded<'f, 'a: 'f>(figures: impl Iterator<Item = &'f Figure<'a>>) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Choice<'a> {
        name: &'a str,
        chart: &'a Chart<'a>,
    }
    #[derive(Serialize)]
    struct Drawn<'a> {
        id: &'a str,
        choose: &'a str,
        choices: Vec<Choice<'a>>,
    }
    let drawn: Vec<Drawn<'_>> = figures
        .map(|figure| Drawn {
            id: figure.id,
            choose: figure.choose,
            choices: figure.charts.iter().map(|(name, chart)| Choice { name, chart }).collect(),
        })
        .collect();
    data::embeddable(&drawn)
}
