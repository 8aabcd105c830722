//! The processes that descend from a script, where nothing tells them but their process group, and their end.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{ExitStatus, Stdio};

use rustix::process::{
    Pid, Resource, Rlimit, Signal, kill_process_group, setrlimit, setsid, test_kill_process_group,
};
use tokio::process::{Child, Command};

use super::launch::Launch;
use crate::world::survivors::Survivor;

/// A script's processes, as far as they stayed in its group.
pub(super) struct Family {
    shell: Pid,
    child: Child,
    /// True once they were asked to end; a second time makes many programs drop what they are tidying up.
    is_asked: bool,
    is_over: bool,
}

impl Family {
    /// Starts a script's shell, which writes to these two.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub(super) fn start(
        launch: &Launch,
        output: [OwnedFd; 2],
        files: Option<Rlimit>,
    ) -> io::Result<Self> {
        let program = launch.program.as_os_str();
        let (name, args) = match launch.words.split_first() {
            Some((name, args)) => (name.as_os_str(), args),
            None => (program, [].as_slice()),
        };
        let mut command = if let Some(fence) = &launch.fence {
            let [first, rest @ ..] = &fence.prefix;
            let mut command = Command::new(first);
            command.args(rest).arg(program);
            command
        } else {
            let mut command = Command::new(program);
            command.as_std_mut().arg0(name);
            command
        };
        let [out, err] = output;
        let stdin = launch.stdin.as_ref().map(|file| file.try_clone());
        command
            .args(args)
            .current_dir(&launch.dir)
            .env_clear()
            .envs(launch.env.iter().map(|(name, value)| (name, value)))
            .stdin(stdin.transpose()?.map_or_else(Stdio::null, Stdio::from))
            .stdout(out)
            .stderr(err);
        let prepare = move || {
            setsid()?;
            match files {
                Some(files) => Ok(setrlimit(Resource::Nofile, files)?),
                None => Ok(()),
            }
        };
        #[expect(
            unsafe_code,
            reason = "pre_exec is the only way to act between fork and exec"
        )]
        // SAFETY: the closure makes system calls only; it neither allocates nor takes a lock.
        unsafe {
            command.pre_exec(prepare);
        }
        let child = command.spawn()?;
        let pid = child.id().and_then(|pid| Pid::from_raw(pid as i32));
        let shell = pid.ok_or_else(|| io::Error::other("it has no number"))?;
        Ok(Self {
            shell,
            child,
            is_asked: false,
            is_over: false,
        })
    }

    /// Waits for the end of the shell. It can be dropped and asked again.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Asks all of it to end.
    pub(super) fn terminate(&mut self) {
        if !std::mem::replace(&mut self.is_asked, true) {
            let _ = kill_process_group(self.shell, Signal::TERM);
        }
    }

    /// Ends all of it.
    pub(super) fn kill(&mut self) {
        let _ = kill_process_group(self.shell, Signal::KILL);
    }

    /// 1 if there are any.
    pub(super) fn count(&self) -> usize {
        usize::from(test_kill_process_group(self.shell).is_ok())
    }

    /// Tells if nothing of it is left.
    pub(super) fn has_ended(&mut self) -> bool {
        self.is_over = self.count() == 0;
        self.is_over
    }

    /// Nobody knows which they are.
    pub(super) fn survivors(&self) -> Vec<Survivor> {
        Vec::new()
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        if !self.is_over {
            self.kill();
        }
    }
}
