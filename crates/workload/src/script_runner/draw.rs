//! Chooses the next iteration and its subject at random.

use rand::Rng as _;

use super::ScriptRunner;
use super::copy_of_file::CopyOfFile;
use super::iteration::Iteration;
use super::own_file::OwnFile;
use crate::fileset::Directory;
use crate::text::Subject;
use crate::{Rng, seed_of};

impl ScriptRunner {
    /// Draws the next iteration: its kind and its subject.
    pub(super) fn begin(&mut self) {
        self.begun += 1;
        self.rng = Rng::new(seed_of(self.seed, (self.begun >> 32) as u32, self.begun as u32));
        let kind = self.kind();
        let Some((on, pick)) = self.work.iterations.get(kind).map(|iteration| (iteration.on, iteration.pick)) else {
            return;
        };
        let layout = self.files.layout();
        let part = layout.part_of(self.client_index);
        let (mut file, mut directory) = (0, Directory { part, number: 0 });
        match on {
            Subject::File => {
                let (first, count) = layout.files_of(self.client_index);
                file = first + pick.draw(count, &mut self.rng);
                directory = layout.directory_of(file);
            }
            Subject::Link => {
                let (first, count) = layout.links_of(self.client_index);
                file = first + pick.draw(count, &mut self.rng);
                directory = layout.directory_of(layout.target_of(file));
            }
            Subject::Directory | Subject::Own => {
                let (first, count) = layout.working_directories();
                directory.number = first + pick.draw(count, &mut self.rng);
            }
        }
        self.path.clear();
        match on {
            Subject::File => self.files.file_path(file, &mut self.path),
            Subject::Link => self.files.link_path(file, &mut self.path),
            Subject::Directory | Subject::Own => self.files.directory_path(directory, &mut self.path),
        }
        // There are a few thousand kinds at most.
        self.kind = kind as u32;
        self.iteration = Some(Iteration {
            kind,
            on,
            file,
            directory,
            step: 0,
            left: None,
            own: OwnFile::default(),
            copy: CopyOfFile::default(),
            folder: None,
            connected: false,
            logged_on: false,
            abandoned: false,
        });
    }

    /// The next kind of iteration: dealt, or drawn by weight.
    fn kind(&mut self) -> usize {
        let place = (self.begun - 1).checked_rem(self.cards.len() as u64);
        if let Some(&card) = place.and_then(|place| self.cards.get(place as usize)) {
            return usize::from(card);
        }
        let all = self.work.weights.last().copied().unwrap_or(1);
        let drawn = self.rng.random_range(0..all.max(1));
        self.work.weights.partition_point(|sum| *sum <= drawn)
    }
}
