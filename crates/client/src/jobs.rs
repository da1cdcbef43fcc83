//! Operations on their way.

/// An operation, as the client numbers it while it is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JobId(u32);

impl JobId {
    /// For requests without an operation (SMB: acknowledging a break, closing a file after a failed operation).
    pub(crate) const NONE: JobId = JobId(u32::MAX);
}

/// The operations of a connection. Places are used again, and so is the memory of jobs, which are too large to be moved
/// around.
#[derive(Debug)]
pub(crate) struct Jobs<J> {
    places: Vec<Option<Box<J>>>,
    free: Vec<u32>,
    spare: Vec<Box<J>>,
}

/// Jobs whose memory is kept, at most.
const SPARE: usize = 32;

/// A resource that a job releases at its end, before its memory is reused.
pub(crate) trait Release {
    /// Releases the resource.
    fn release(&mut self);
}

impl<J> Default for Jobs<J> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new(), spare: Vec::new() }
    }
}

impl<J: Release> Jobs<J> {
    pub(crate) fn add(&mut self, job: J) -> JobId {
        let job = match self.spare.pop() {
            Some(mut spare) => {
                *spare = job;
                spare
            }
            None => Box::new(job),
        };
        if let Some(place) = self.free.pop()
            && let Some(slot) = self.places.get_mut(place as usize)
        {
            *slot = Some(job);
            return JobId(place);
        }
        self.places.push(Some(job));
        // Callers have as many operations on their way as they have slots: far fewer than 4 billion.
        JobId((self.places.len() - 1) as u32)
    }

    pub(crate) fn get(&mut self, id: JobId) -> Option<&mut J> {
        self.places.get_mut(id.0 as usize)?.as_deref_mut()
    }

    /// The same, to look at.
    pub(crate) fn find(&self, id: JobId) -> Option<&J> {
        self.places.get(id.0 as usize)?.as_deref()
    }

    /// Takes a job out for a while; [`Jobs::put`] or [`Jobs::release`] must follow.
    pub(crate) fn take(&mut self, id: JobId) -> Option<Box<J>> {
        self.places.get_mut(id.0 as usize)?.take()
    }

    /// Puts it back.
    pub(crate) fn put(&mut self, id: JobId, job: Box<J>) {
        if let Some(place) = self.places.get_mut(id.0 as usize) {
            *place = Some(job);
        }
    }

    /// A job that was taken out is over: its place is free.
    pub(crate) fn release(&mut self, id: JobId, mut job: Box<J>) {
        self.free.push(id.0);
        if self.spare.len() < SPARE {
            // Releases resources now, not when the memory is reused.
            job.release();
            self.spare.push(job);
        }
    }

    /// Takes out a job that is over.
    pub(crate) fn remove(&mut self, id: JobId) -> Option<Box<J>> {
        let job = self.take(id)?;
        self.free.push(id.0);
        Some(job)
    }

    /// The first job that is like this.
    pub(crate) fn first(&self, is: impl Fn(&J) -> bool) -> Option<JobId> {
        let place = self.places.iter().position(|job| job.as_deref().is_some_and(&is))?;
        Some(JobId(place as u32))
    }

    /// All jobs.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut J> {
        self.places.iter_mut().flatten().map(AsMut::as_mut)
    }

    /// The same, to look at.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &J> {
        self.places.iter().flatten().map(AsRef::as_ref)
    }

    /// Takes out all jobs.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Box<J>> + use<J> {
        self.free.clear();
        std::mem::take(&mut self.places).into_iter().flatten()
    }
}
