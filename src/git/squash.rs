//! Several of clada's commits made one. Owns which commits are rewritten, and how; never changes a tree, the index or a
//! file, nor rewrites what is pushed unless it is told to.
//!
//! The first parents from the newest commit on are the history that is looked through. What is on top of a squashed commit is
//! made again to the byte, with other parents only. All commits are written before the ref is moved, once.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::PathBuf;

use git2::{Commit, ErrorCode, ObjectType, Oid, Sort};

use super::history::Saved;
use super::message::{Message, Step};
use super::program::New;
use super::{SnapshotError, Snapshots, Target};
use crate::git::subject;

/// What is to be squashed.
#[derive(Debug, Clone)]
pub struct Ask {
    pub which: Which,
    /// The subject, in place of what the commits say.
    pub message: Option<String>,
    /// Also what is pushed, and though signatures are lost.
    pub force: bool,
    /// Nothing is changed.
    pub dry_run: bool,
    /// Marks the commits that are made.
    pub id: String,
    /// The local time: the subject where there is none.
    pub time: String,
}

/// Which of clada's commits.
#[derive(Debug, Clone)]
pub enum Which {
    /// Those on top of the newest of the user's.
    Top,
    /// So many, from the newest on.
    Newest(usize),
    /// Those whose message has this text.
    Containing(String),
    /// Those that this revision does not have.
    After(String),
    /// Those of this second since 1970 and later.
    Since(i64),
    /// Those of a batch, by the beginning of its id.
    Batch(String),
}

/// What was done, or would be.
#[derive(Debug, Default)]
pub struct Squashed {
    /// Oldest first.
    pub groups: Vec<Group>,
    /// The newest commit before and after, and the ref that was moved between them; none where nothing was changed.
    pub moved: Option<Moved>,
    /// How many other commits were made again, on top of what was squashed.
    pub again: usize,
    /// How many of those and of the squashed lost a signature.
    pub unsigned: usize,
    pub pushed: Option<Pushed>,
    /// Other refs that still point at what was rewritten.
    pub left: Vec<String>,
}

/// Several commits that became one.
#[derive(Debug)]
pub struct Group {
    /// Oldest first.
    pub commits: Vec<Saved>,
    /// What the new one says.
    pub message: String,
    /// The new one; none in a dry run.
    pub commit: Option<String>,
}

/// How the newest commit was replaced.
#[derive(Debug, PartialEq, Eq)]
pub struct Moved {
    pub old: String,
    pub new: String,
    /// What was moved, where it is not the user's own HEAD.
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

/// What is to be made again.
struct Plan<'r> {
    /// All that may be, parents first.
    range: Vec<Commit<'r>>,
    groups: Vec<Vec<Oid>>,
    /// Members of groups, by their group.
    member: HashMap<Oid, usize>,
    /// The others that have to be made again.
    again: HashSet<Oid>,
}

impl Snapshots {
    /// Makes one commit of each run of chosen ones.
    ///
    /// # Errors
    /// Where nothing can be saved either, for a revision or a batch that is not there, and where a signature would be lost.
    pub fn squash(&self, ask: &Ask) -> Result<Squashed, SnapshotError> {
        self.refuse_diverted()?;
        self.wait_until_unlocked()?;
        self.refuse_in_the_middle(&self.repo.index()?)?;
        let Some(tip) = self.tip()? else {
            return Ok(Squashed::default());
        };
        let mut chain = self.chosen(&tip, &ask.which)?;
        let pushed = self.spare_pushed(&tip, &mut chain, ask.force)?;
        let plan = self.plan(&tip, &chain)?;
        let mut done = Squashed {
            pushed,
            again: plan.again.len(),
            ..Squashed::default()
        };
        if plan.groups.is_empty() {
            return Ok(done);
        }
        let mut saved: HashMap<Oid, Saved> = chain
            .into_iter()
            .filter_map(|link| Some((link.id, link.saved?)))
            .collect();
        done.unsigned = self.unsigned(&plan, &saved);
        if done.unsigned > 0 && !ask.force {
            return Err(SnapshotError::LosesSignatures(done.unsigned));
        }
        for (at, group) in plan.groups.iter().enumerate() {
            let commits: Vec<Saved> = group.iter().filter_map(|id| saved.remove(id)).collect();
            // As the ids of several batches of one run are told apart.
            let batch = match at {
                0 => ask.id.clone(),
                _ => format!("{}.{}", ask.id, at + 1),
            };
            done.groups.push(Group {
                message: message(&commits, ask, batch).to_string(),
                commits,
                commit: None,
            });
        }
        done.left = self.refs_at(&plan)?;
        if !ask.dry_run {
            self.carry_out(&tip, &plan, &mut done)?;
        }
        Ok(done)
    }

    /// The first parents as far back as they matter, newest first.
    fn chosen(&self, tip: &Commit<'_>, which: &Which) -> Result<Vec<Link>, SnapshotError> {
        let shallow = self.shallow();
        // Beside a branch, what the branch has is left as it is.
        let beside = match self.head()? {
            Some(head) if self.target == Target::Side => Some(self.beyond(tip.id(), &[head.id()])?),
            _ => None,
        };
        let beside: Option<HashSet<Oid>> = beside.map(|ids| ids.into_iter().collect());
        let mut left = match which {
            Which::Newest(most) => *most,
            _ => usize::MAX,
        };
        let after = match which {
            Which::After(revision) => Some(self.beyond(tip.id(), &[self.revision(revision)?])?),
            _ => None,
        };
        let after: Option<HashSet<Oid>> = after.map(|ids| ids.into_iter().collect());
        let mut batches: Vec<String> = Vec::new();
        let mut chain = Vec::new();
        let mut next = Some(tip.clone());
        while let Some(commit) = next {
            let id = commit.id();
            let saved = Saved::of(&commit);
            let is_over = match which {
                Which::Top => saved.is_none(),
                Which::Newest(_) => left == 0,
                Which::After(_) => after.as_ref().is_some_and(|after| !after.contains(&id)),
                Which::Since(second) => commit.time().seconds() < *second,
                // Its commits are together, but for those of the user.
                Which::Batch(given) => saved
                    .as_ref()
                    .is_some_and(|saved| saved.batch != *given && batches.first() == Some(given)),
                Which::Containing(_) => false,
            };
            let is_of_branch = beside.as_ref().is_some_and(|beside| !beside.contains(&id));
            if is_over || is_of_branch || shallow.contains(&id) {
                break;
            }
            let chosen = saved.as_ref().is_some_and(|saved| match which {
                Which::Containing(text) => {
                    String::from_utf8_lossy(commit.message_bytes()).contains(text.as_str())
                }
                Which::Batch(given) => {
                    let is_it = saved.batch.starts_with(given.as_str());
                    if is_it && !batches.contains(&saved.batch) {
                        batches.push(saved.batch.clone());
                    }
                    is_it
                }
                _ => true,
            });
            left = left.saturating_sub(usize::from(chosen));
            let parents: Vec<Oid> = commit.parent_ids().collect();
            // Beside a branch, what the user committed comes in as a second parent.
            let ends = matches!(which, Which::Top) && parents.len() > 1;
            next = match parents.first().filter(|_| !ends) {
                Some(parent) => Some(self.repo.find_commit(*parent)?),
                None => None,
            };
            chain.push(Link {
                id,
                saved,
                parents,
                chosen,
            });
        }
        if let Which::Batch(given) = which {
            // An id may be the beginning of another.
            let exact = batches.contains(given);
            match batches.len() {
                0 => return Err(SnapshotError::NoBatch(given.clone())),
                2.. if !exact => {
                    batches.truncate(5);
                    return Err(SnapshotError::SeveralBatches {
                        given: given.clone(),
                        found: batches,
                    });
                }
                _ => {}
            }
            for link in chain.iter_mut().filter(|_| exact) {
                link.chosen &= link
                    .saved
                    .as_ref()
                    .is_some_and(|saved| saved.batch == *given);
            }
        }
        Ok(chain)
    }

    /// Where a shallow clone ends: what is made again there would lose its parents, which are not known here.
    fn shallow(&self) -> HashSet<Oid> {
        let path = self.repo.commondir().join("shallow");
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines()
            .filter_map(|line| Oid::from_str(line).ok())
            .collect()
    }

    fn revision(&self, text: &str) -> Result<Oid, SnapshotError> {
        let unknown = |_| SnapshotError::NoRevision(text.to_owned());
        let found = self.repo.revparse_single(text).map_err(unknown)?;
        Ok(found.peel_to_commit().map_err(unknown)?.id())
    }

    /// What `tip` has and these have not, parents first.
    fn beyond(&self, tip: Oid, these: &[Oid]) -> Result<Vec<Oid>, SnapshotError> {
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
    ) -> Result<Option<Pushed>, SnapshotError> {
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
        let own: HashSet<Oid> = self.beyond(tip.id(), &ids)?.into_iter().collect();
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

    fn plan(&self, tip: &Commit<'_>, chain: &[Link]) -> Result<Plan<'_>, SnapshotError> {
        let mut plan = Plan {
            range: Vec::new(),
            groups: Vec::new(),
            member: HashMap::new(),
            again: HashSet::new(),
        };
        let Some(oldest) = chain.iter().rfind(|link| link.chosen) else {
            return Ok(plan);
        };
        for id in self.beyond(tip.id(), &oldest.parents)? {
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
            let is_new = |id| plan.member.contains_key(&id) || plan.again.contains(&id);
            if !plan.member.contains_key(&commit.id()) && commit.parent_ids().any(is_new) {
                plan.again.insert(commit.id());
            }
        }
        Ok(plan)
    }

    /// How many signatures cannot be made again: all, but those of clada's own commits where it signs them.
    fn unsigned(&self, plan: &Plan<'_>, saved: &HashMap<Oid, Saved>) -> usize {
        let is_lost = |commit: &&Commit<'_>| {
            let id = commit.id();
            let is_made_of = plan.member.contains_key(&id);
            (is_made_of || plan.again.contains(&id))
                && is_signed(commit)
                && !(self.signs() && (is_made_of || saved.contains_key(&id)))
        };
        plan.range.iter().filter(is_lost).count()
    }

    /// Refs that point at what is rewritten, but for the one that is moved.
    fn refs_at(&self, plan: &Plan<'_>) -> Result<Vec<String>, SnapshotError> {
        let own = self.full_ref_name();
        let mut left = Vec::new();
        for found in self.repo.references()? {
            let found = found?;
            let Ok(commit) = found.peel_to_commit() else {
                continue;
            };
            let is_gone =
                plan.member.contains_key(&commit.id()) || plan.again.contains(&commit.id());
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
        plan: &Plan<'_>,
        done: &mut Squashed,
    ) -> Result<(), SnapshotError> {
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
                None if is_signed(commit) && self.signs() && Saved::of(commit).is_some() => {
                    let text = String::from_utf8_lossy(commit.message_raw_bytes());
                    self.make_on(commit, &text, &mapped(commit))?
                }
                None => self.copy_on(commit, &mapped(commit))?,
            };
            new.insert(id, made);
        }
        let made = new.get(&tip.id()).copied().unwrap_or(tip.id());
        let name = self.full_ref_name();
        // The way back must outlast a `git gc`.
        match self.repo.reference_ensure_log(&name) {
            Err(why) if why.code() != ErrorCode::NotFound => return Err(why.into()),
            _ => {}
        }
        self.advance(Some(tip.id()), made, "clada squash")?;
        let is_users = self.target == Target::Branch && !self.private;
        done.moved = Some(Moved {
            old: tip.id().to_string(),
            new: made.to_string(),
            by_name: (!is_users).then_some(name),
            git_dir: self.private.then(|| self.repo.path().to_owned()),
        });
        Ok(())
    }

    /// A commit with the tree, the names and the times of another.
    fn make_on(
        &self,
        like: &Commit<'_>,
        text: &str,
        parents: &[Oid],
    ) -> Result<Oid, SnapshotError> {
        let found = parents.iter().map(|id| self.repo.find_commit(*id));
        let parents = found.collect::<Result<Vec<_>, _>>()?;
        self.make(&New {
            author: &like.author(),
            committer: &like.committer(),
            text,
            tree: &like.tree()?,
            parents: &parents.iter().collect::<Vec<_>>(),
        })
    }

    /// The same commit to the byte, with other parents and without a signature.
    fn copy_on(&self, commit: &Commit<'_>, parents: &[Oid]) -> Result<Oid, SnapshotError> {
        let odb = self.repo.odb()?;
        let object = odb.read(commit.id())?;
        let bytes = object.data();
        let header = memchr::memmem::find(bytes, b"\n\n").map_or(bytes.len(), |at| at + 1);
        let (header, rest) = bytes.split_at(header);
        let mut new = Vec::with_capacity(bytes.len());
        let (mut in_signature, mut put) = (false, false);
        for line in header.split_inclusive(|byte| *byte == b'\n') {
            // A field of several lines goes on with a space.
            in_signature = match line.first() {
                Some(b' ') => in_signature,
                _ => SIGNATURES.iter().any(|name| {
                    line.strip_prefix(name.as_bytes())
                        .is_some_and(|rest| rest.first() == Some(&b' '))
                }),
            };
            if in_signature || line.starts_with(b"parent ") {
                continue;
            }
            if !put && line.starts_with(b"author ") {
                put = true;
                for id in parents {
                    new.extend_from_slice(format!("parent {id}\n").as_bytes());
                }
            }
            new.extend_from_slice(line);
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

/// What a group's commit says.
fn message(commits: &[Saved], ask: &Ask, batch: String) -> Message {
    let mut body: Vec<String> = Vec::new();
    let mut of: Vec<String> = Vec::new();
    for saved in commits {
        of.extend(saved.of.iter().cloned());
        of.push(saved.batch.clone());
    }
    of.sort();
    of.dedup();
    for saved in commits {
        let lines = match saved.step {
            // What it lists is what came after it.
            Step::Before => vec!["what was changed before".to_owned()],
            _ if saved.body.is_empty() => vec![saved.subject.clone()],
            _ => saved.body.clone(),
        };
        body.extend(lines.into_iter().filter(|line| !line.is_empty()));
    }
    Message {
        subject: Some(ask.message.clone().unwrap_or_else(|| words(commits))),
        time: ask.time.clone(),
        body,
        batch,
        step: Step::Squash,
        of,
        moved: None,
        beside: None,
    }
}

/// The words of a group, batch by batch: what the user had changed before one goes without saying.
fn words(commits: &[Saved]) -> String {
    let is_said = |saved: &&Saved| saved.step != Step::Before;
    let mut said: Vec<&Saved> = commits.iter().filter(is_said).collect();
    if said.is_empty() {
        said = commits.iter().collect();
    }
    // An undo is told from what it took back by its whole subject.
    let of_batch =
        |batch: &[&Saved]| subject::of_batch(batch.iter().map(|saved| saved.subject.as_str()));
    let batches = said.chunk_by(|one, next| one.batch == next.batch);
    let batches: Vec<String> = batches.map(of_batch).collect();
    subject::summed(batches.iter().map(String::as_str))
}
