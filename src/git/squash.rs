//! The squash of several of clada's commits into one. Owns which commits are rewritten, and how; never changes a tree, the index or a
//! file, nor rewrites what is pushed unless it is told to.
//!
//! The first parents from the newest commit on are the history that is looked through. What is on top of a squashed commit is
//! made again to the byte, with other parents only. All commits are written before the ref is moved, once.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::PathBuf;

use git2::{Commit, ObjectType, Oid, Sort};

use super::error::{GitResult, if_found};
use super::history::{Saved, first_parents};
use super::message::{CommitStep, Message};
use super::{SnapshotError, Snapshots, Store, subject};

/// A squash that is asked for.
#[derive(Debug, Clone)]
pub struct SquashRequest {
    pub range: SquashRange,
    /// The subject, in place of what the commits say.
    pub message: Option<String>,
    /// Commits that are pushed are squashed too, and signatures may be lost.
    pub force: bool,
    /// True if nothing is to be changed.
    pub dry_run: bool,
    /// The batch id of the commits that are made.
    pub id: String,
    /// The local time: the subject where there is none.
    pub time: String,
}

/// The commits of clada's to squash.
#[derive(Debug, Clone)]
pub enum SquashRange {
    /// The commits on top of the newest one of the user's.
    Top,
    /// This number of commits, from the newest on.
    Newest(usize),
    /// The commits whose message has this text.
    Containing(String),
    /// The commits that this revision does not have.
    After(String),
    /// The commits since this Unix time, in seconds.
    Since(i64),
    /// The commits of a batch, by the beginning of its id.
    Batch(String),
}

/// The result of a squash, or what it would be.
#[derive(Debug, Default)]
pub struct Squashed {
    /// Oldest first.
    pub groups: Vec<SquashGroup>,
    /// The newest commit before and after, and the ref that was moved between them; none where nothing was changed.
    pub moved: Option<Moved>,
    /// The number of other commits that were made again, on top of what was squashed.
    pub again: usize,
    /// The number of those and of the squashed that lost a signature.
    pub unsigned: usize,
    pub pushed: Option<Pushed>,
    /// Other refs that still point at what was rewritten.
    pub left: Vec<String>,
}

/// Several commits that became one.
#[derive(Debug)]
pub struct SquashGroup {
    /// Oldest first.
    pub commits: Vec<Saved>,
    /// The message of the new one.
    pub message: String,
    /// The new one; none in a dry run.
    pub commit: Option<String>,
}

/// The newest commit before and after it was replaced.
#[derive(Debug, PartialEq, Eq)]
pub struct Moved {
    pub old: String,
    pub new: String,
    /// The ref that was moved, where it is not the user's own HEAD.
    pub by_name: Option<String>,
    /// The private repository that it is in.
    pub git_dir: Option<PathBuf>,
}

/// Chosen commits that a remote has.
#[derive(Debug, PartialEq, Eq)]
pub struct Pushed {
    pub count: usize,
    /// Some of its branches that have them.
    pub refs: Vec<String>,
}

/// A commit among the first parents of the newest.
struct Link {
    id: Oid,
    saved: Option<Saved>,
    parents: Vec<Oid>,
    chosen: bool,
}

/// The commits to make again.
#[derive(Default)]
struct SquashPlan<'r> {
    /// All that may be, parents first.
    range: Vec<Commit<'r>>,
    groups: Vec<Vec<Oid>>,
    /// Members of groups, by their group.
    member: HashMap<Oid, usize>,
    /// The others that have to be made again.
    again: HashSet<Oid>,
}

impl SquashPlan<'_> {
    fn rewrites(&self, id: Oid) -> bool {
        self.member.contains_key(&id) || self.again.contains(&id)
    }
}

/// The choice of commits in a range, on the way back from the newest.
struct RangeChoice<'w> {
    range: &'w SquashRange,
    /// The number of commits that were chosen.
    taken: usize,
    /// The batches that the range names.
    batches: Vec<String>,
}

impl RangeChoice<'_> {
    fn is_over(&self, commit: &Commit<'_>, saved: Option<&Saved>) -> bool {
        match self.range {
            SquashRange::Top => saved.is_none(),
            SquashRange::Newest(most) => self.taken == *most,
            SquashRange::Since(second) => commit.time().seconds() < *second,
            // Its commits are together, but for those of the user.
            SquashRange::Batch(given) => saved.is_some_and(|saved| {
                saved.message.batch != *given && self.batches.first() == Some(given)
            }),
            SquashRange::Containing(_) | SquashRange::After(_) => false,
        }
    }

    fn takes(&mut self, commit: &Commit<'_>, saved: &Saved) -> bool {
        let batch = &saved.message.batch;
        let is_chosen = match self.range {
            SquashRange::Containing(text) => {
                String::from_utf8_lossy(commit.message_bytes()).contains(text)
            }
            SquashRange::Batch(given) => {
                let is_named = batch.starts_with(given);
                if is_named && !self.batches.contains(batch) {
                    self.batches.push(batch.clone());
                }
                is_named
            }
            _ => true,
        };
        self.taken += usize::from(is_chosen);
        is_chosen
    }

    /// Keeps only the batch of that name, as an id may be the beginning of another.
    fn settle(mut self, chain: &mut [Link]) -> GitResult<()> {
        let SquashRange::Batch(given) = self.range else {
            return Ok(());
        };
        if self.batches.contains(given) {
            for link in chain {
                let saved = link.saved.as_ref();
                link.chosen &= saved.is_some_and(|saved| saved.message.batch == *given);
            }
            return Ok(());
        }
        match self.batches.len() {
            0 => Err(SnapshotError::NoBatch(given.clone())),
            1 => Ok(()),
            _ => {
                self.batches.truncate(5);
                Err(SnapshotError::SeveralBatches {
                    given: given.clone(),
                    found: self.batches,
                })
            }
        }
    }
}

impl Snapshots {
    /// Makes one commit of each run of chosen ones.
    ///
    /// # Errors
    /// Where nothing can be saved either, for a revision or a batch that is not there, and where a signature would be lost.
    pub fn squash(&self, request: &SquashRequest) -> GitResult<Squashed> {
        self.store.refuse_diverted()?;
        self.store.wait_until_unlocked()?;
        self.store.refuse_in_the_middle(&self.store.repo.index()?)?;
        self.refuse_looking()?;
        self.store.squash(request)
    }
}

impl Store {
    fn squash(&self, request: &SquashRequest) -> GitResult<Squashed> {
        let Some(tip) = self.tip()? else {
            return Ok(Squashed::default());
        };
        let mut chain = self.chosen(&tip, &request.range)?;
        let pushed = self.spare_pushed(&tip, &mut chain, request.force)?;
        let plan = self.plan(&tip, &chain)?;
        let mut done = Squashed {
            pushed,
            again: plan.again.len(),
            ..Squashed::default()
        };
        if plan.groups.is_empty() {
            return Ok(done);
        }
        let links = chain.into_iter();
        let mut saved: HashMap<Oid, Saved> = links
            .filter_map(|link| Some((link.id, link.saved?)))
            .collect();
        done.unsigned = self.unsigned(&plan, &saved);
        if done.unsigned > 0 && !request.force {
            return Err(SnapshotError::LosesSignatures(done.unsigned));
        }
        for (at, group) in plan.groups.iter().enumerate() {
            let commits: Vec<Saved> = group.iter().filter_map(|id| saved.remove(id)).collect();
            // As the ids of several batches of one run are told apart.
            let batch = match at {
                0 => request.id.clone(),
                _ => format!("{}.{}", request.id, at + 1),
            };
            done.groups.push(SquashGroup {
                message: message(&commits, request, batch).to_string(),
                commits,
                commit: None,
            });
        }
        done.left = self.refs_at(&plan)?;
        if !request.dry_run {
            self.carry_out(&tip, &plan, &mut done)?;
        }
        Ok(done)
    }

    /// The first parents as far back as they matter, newest first.
    fn chosen(&self, tip: &Commit<'_>, range: &SquashRange) -> GitResult<Vec<Link>> {
        let shallow = self.shallow();
        let mut outside = Vec::new();
        if let SquashRange::After(text) = range {
            outside.push(self.revision(text)?);
        }
        // Beside a branch, what the branch has is left as it is.
        if self.rules.is_beside_branch() {
            outside.extend(self.head()?.map(|head| head.id()));
        }
        let inside: HashSet<Oid> = match outside[..] {
            [] => HashSet::new(),
            _ => self.beyond(tip.id(), &outside)?,
        };
        let mut choice = RangeChoice {
            range,
            taken: 0,
            batches: Vec::new(),
        };
        let mut chain = Vec::new();
        for commit in first_parents(Some(tip.clone())) {
            let commit = commit?;
            let id = commit.id();
            let saved = Saved::of(&commit);
            let is_outside = !outside.is_empty() && !inside.contains(&id);
            if is_outside || shallow.contains(&id) || choice.is_over(&commit, saved.as_ref()) {
                break;
            }
            let parents: Vec<Oid> = commit.parent_ids().collect();
            // Beside a branch, what the user committed comes in as a second parent.
            let ends = matches!(range, SquashRange::Top) && parents.len() > 1;
            chain.push(Link {
                id,
                chosen: saved
                    .as_ref()
                    .is_some_and(|saved| choice.takes(&commit, saved)),
                saved,
                parents,
            });
            if ends {
                break;
            }
        }
        choice.settle(&mut chain)?;
        Ok(chain)
    }

    /// The commits at which a shallow clone ends: what is made again there would lose its parents, which are not known here.
    fn shallow(&self) -> HashSet<Oid> {
        let path = self.repo.commondir().join("shallow");
        let text = fs::read_to_string(path).unwrap_or_default();
        let ids = text.lines().filter_map(|line| Oid::from_str(line).ok());
        ids.collect()
    }

    fn revision(&self, text: &str) -> GitResult<Oid> {
        let unknown = |_| SnapshotError::NoRevision(text.to_owned());
        let found = self.repo.revparse_single(text).map_err(unknown)?;
        Ok(found.peel_to_commit().map_err(unknown)?.id())
    }

    /// The commits that `tip` has and these have not, parents first.
    fn beyond<C: FromIterator<Oid>>(&self, tip: Oid, these: &[Oid]) -> GitResult<C> {
        let mut walk = self.repo.revwalk()?;
        walk.set_sorting(Sort::TOPOLOGICAL | Sort::REVERSE)?;
        walk.push(tip)?;
        for id in these {
            walk.hide(*id)?;
        }
        Ok(walk.collect::<Result<_, _>>()?)
    }

    /// Takes out of the choice what a remote has, unless that is to be rewritten too.
    fn spare_pushed(
        &self,
        tip: &Commit<'_>,
        chain: &mut [Link],
        force: bool,
    ) -> GitResult<Option<Pushed>> {
        let mut remotes = Vec::new();
        for found in self.repo.references_glob("refs/remotes/*")? {
            let found = found?;
            if let Ok(commit) = found.peel_to_commit()
                && found.symbolic_target_bytes().is_none()
            {
                let name = String::from_utf8_lossy(found.shorthand_bytes()).into_owned();
                remotes.push((name, commit.id()));
            }
        }
        if remotes.is_empty() || !chain.iter().any(|link| link.chosen) {
            return Ok(None);
        }
        let ids: Vec<Oid> = remotes.iter().map(|(_, id)| *id).collect();
        let own: HashSet<Oid> = self.beyond(tip.id(), &ids)?;
        let is_pushed = |link: &&mut Link| link.chosen && !own.contains(&link.id);
        let (mut count, mut newest) = (0, None);
        for link in chain.iter_mut().filter(is_pushed) {
            link.chosen = force;
            newest = newest.or(Some(link.id));
            count += 1;
        }
        let Some(newest) = newest else {
            return Ok(None);
        };
        let mut refs = Vec::new();
        for (name, id) in remotes {
            if id == newest || self.repo.graph_descendant_of(id, newest)? {
                refs.push(name);
            }
            if refs.len() == 3 {
                break;
            }
        }
        Ok(Some(Pushed { count, refs }))
    }

    fn plan(&self, tip: &Commit<'_>, chain: &[Link]) -> GitResult<SquashPlan<'_>> {
        let mut plan = SquashPlan::default();
        let Some(oldest) = chain.iter().rfind(|link| link.chosen) else {
            return Ok(plan);
        };
        for id in self.beyond::<Vec<Oid>>(tip.id(), &oldest.parents)? {
            plan.range.push(self.repo.find_commit(id)?);
        }
        let mut children: HashMap<Oid, usize> = HashMap::new();
        for id in plan.range.iter().flat_map(Commit::parent_ids) {
            *children.entry(id).or_default() += 1;
        }
        let mut group: Vec<Oid> = Vec::new();
        let mut end = |group: &mut Vec<Oid>| match group.len() {
            0 | 1 => group.clear(),
            _ => plan.groups.push(std::mem::take(group)),
        };
        for link in chain.iter().rev() {
            // What merges something begins a group, so that it goes on merging it.
            if !link.chosen || link.parents.len() > 1 {
                end(&mut group);
            }
            if link.chosen {
                group.push(link.id);
                // What else was put on this one needs one with the same tree.
                if children.get(&link.id).is_some_and(|count| *count > 1) {
                    end(&mut group);
                }
            }
        }
        end(&mut group);
        for (at, group) in plan.groups.iter().enumerate() {
            plan.member.extend(group.iter().map(|id| (*id, at)));
        }
        for commit in &plan.range {
            let is_member = plan.member.contains_key(&commit.id());
            if !is_member && commit.parent_ids().any(|id| plan.rewrites(id)) {
                plan.again.insert(commit.id());
            }
        }
        Ok(plan)
    }

    /// Counts the signatures that cannot be made again: all, but those of clada's own commits where it signs them.
    fn unsigned(&self, plan: &SquashPlan<'_>, saved: &HashMap<Oid, Saved>) -> usize {
        let is_lost = |commit: &&Commit<'_>| {
            let id = commit.id();
            let is_ours = plan.member.contains_key(&id) || saved.contains_key(&id);
            plan.rewrites(id) && is_signed(commit) && !(self.rules.options.sign && is_ours)
        };
        plan.range.iter().filter(is_lost).count()
    }

    /// Refs that point at what is rewritten, but for the one that is moved.
    fn refs_at(&self, plan: &SquashPlan<'_>) -> GitResult<Vec<String>> {
        let own = self.ref_name();
        let mut left = Vec::new();
        for found in self.repo.references()? {
            let found = found?;
            let Ok(commit) = found.peel_to_commit() else {
                continue;
            };
            let is_gone = plan.rewrites(commit.id());
            let name = String::from_utf8_lossy(found.name_bytes()).into_owned();
            if is_gone && name != own && found.symbolic_target_bytes().is_none() {
                left.push(String::from_utf8_lossy(found.shorthand_bytes()).into_owned());
            }
        }
        Ok(left)
    }

    fn carry_out(
        &self,
        tip: &Commit<'_>,
        plan: &SquashPlan<'_>,
        done: &mut Squashed,
    ) -> GitResult<()> {
        let mut new: HashMap<Oid, Oid> = HashMap::new();
        for commit in &plan.range {
            let id = commit.id();
            let mapped = |commit: &Commit<'_>| -> Vec<Oid> {
                let ids = commit.parent_ids();
                ids.map(|id| new.get(&id).copied().unwrap_or(id)).collect()
            };
            let made = match plan.member.get(&id) {
                Some(at) if plan.groups[*at].last() == Some(&id) => {
                    let first = self.repo.find_commit(plan.groups[*at][0])?;
                    let made = self.make_on(commit, &done.groups[*at].message, &mapped(&first))?;
                    done.groups[*at].commit = Some(made.to_string());
                    made
                }
                Some(_) => continue,
                None if !plan.again.contains(&id) => continue,
                None if is_signed(commit)
                    && self.rules.options.sign
                    && Saved::of(commit).is_some() =>
                {
                    let text = String::from_utf8_lossy(commit.message_raw_bytes());
                    self.make_on(commit, &text, &mapped(commit))?
                }
                None => self.copy_on(commit, &mapped(commit))?,
            };
            new.insert(id, made);
        }
        let made = new.get(&tip.id()).copied().unwrap_or(tip.id());
        let name = self.ref_name();
        // The way back must outlast a `git gc`.
        if_found(self.repo.reference_ensure_log(&name))?;
        self.advance(Some(tip.id()), made, "clada squash")?;
        let is_users = !self.is_private() && !self.rules.is_beside_branch();
        done.moved = Some(Moved {
            old: tip.id().to_string(),
            new: made.to_string(),
            by_name: (!is_users).then_some(name),
            git_dir: self.is_private().then(|| self.repo.path().to_owned()),
        });
        Ok(())
    }

    /// A commit with the tree, the names and the times of another.
    fn make_on(&self, like: &Commit<'_>, text: &str, parents: &[Oid]) -> GitResult<Oid> {
        let found = parents.iter().map(|id| self.repo.find_commit(*id));
        let parents = found.collect::<Result<Vec<_>, _>>()?;
        let names = [&like.author(), &like.committer()];
        self.make(names, &like.tree()?, text, &parents)
    }

    /// The same commit to the byte, with other parents and without a signature.
    fn copy_on(&self, commit: &Commit<'_>, parents: &[Oid]) -> GitResult<Oid> {
        let odb = self.repo.odb()?;
        let object = odb.read(commit.id())?;
        let bytes = object.data();
        let header = memchr::memmem::find(bytes, b"\n\n").map_or(bytes.len(), |at| at + 1);
        let (header, rest) = bytes.split_at(header);
        let mut new = Vec::with_capacity(bytes.len());
        let mut is_left_out = false;
        for line in header.split_inclusive(|byte| *byte == b'\n') {
            // A field of several lines goes on with a space.
            if !line.starts_with(b" ") {
                let name = line.split(|byte| *byte == b' ').next().unwrap_or_default();
                let mut left_out = SIGNATURES.iter().chain(&["parent"]);
                is_left_out = left_out.any(|one| name == one.as_bytes());
            }
            if line.starts_with(b"author ") {
                for id in parents {
                    new.extend_from_slice(format!("parent {id}\n").as_bytes());
                }
            }
            if !is_left_out {
                new.extend_from_slice(line);
            }
        }
        new.extend_from_slice(rest);
        Ok(odb.write(ObjectType::Commit, &new)?)
    }
}

const SIGNATURES: [&str; 2] = ["gpgsig", "gpgsig-sha256"];

fn is_signed(commit: &Commit<'_>) -> bool {
    SIGNATURES
        .iter()
        .any(|name| commit.header_field_bytes(*name).is_ok())
}

/// Makes the message of a group's commit.
fn message(commits: &[Saved], request: &SquashRequest, batch: String) -> Message {
    let mut body: Vec<String> = Vec::new();
    let mut of = BTreeSet::new();
    for Saved { message, .. } in commits {
        of.extend(message.of.iter().cloned());
        of.insert(message.batch.clone());
        let lines = match message.step {
            // What it lists is what came after it.
            CommitStep::Before => &["what was changed before".to_owned()],
            _ if message.body.is_empty() => std::slice::from_ref(&message.subject),
            _ => &message.body[..],
        };
        body.extend(lines.iter().filter(|line| !line.is_empty()).cloned());
    }
    Message {
        subject: request.message.clone().unwrap_or_else(|| words(commits)),
        time: request.time.clone(),
        body,
        batch,
        step: CommitStep::Squash,
        of: of.into_iter().collect(),
        ..Message::default()
    }
}

/// The words of a group, batch by batch: what the user had changed before one goes without saying.
fn words(commits: &[Saved]) -> String {
    let messages = || commits.iter().map(|saved| &saved.message);
    let mut said: Vec<&Message> = messages()
        .filter(|message| message.step != CommitStep::Before)
        .collect();
    if said.is_empty() {
        said = messages().collect();
    }
    // An undo is told from what it took back by its whole subject.
    let of_batch =
        |batch: &[&Message]| subject::of_batch(batch.iter().map(|it| it.subject.as_str()));
    let batches = said.chunk_by(|one, next| one.batch == next.batch);
    let batches: Vec<String> = batches.map(of_batch).collect();
    subject::summed(batches.iter().map(String::as_str))
}
