//! The loop that waits for a person and for a session, and draws what comes of it.

use std::{io, time::Duration};

use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval, sleep_until},
};

use crate::{
    app::App,
    device::{Device, Input},
    paint::Painter,
    theme::Colours,
    wish::{Action, Report, Wish},
};

/// Frames are at least so far apart, unless a key asks for one.
const FRAME: Duration = Duration::from_millis(25);
/// Spinners and clocks move this often.
const BEAT: Duration = Duration::from_millis(100);
/// A change of size that nobody told of is seen after this time: signals come late, and at the beginning not at all.
const GLANCE: Duration = Duration::from_secs(1);
/// Reports that are taken before anything is drawn.
const MOST_AT_ONCE: usize = 512;

/// The other side: takes what is wanted, tells what happens.
#[derive(Debug)]
pub struct Link {
    /// If it is full, the person is told that what they wanted was not taken.
    pub actions: mpsc::Sender<Action>,
    pub reports: mpsc::Receiver<Report>,
}

/// Shows an app until it is left. Dropping the future leaves what is drawn on the screen.
pub async fn drive(app: &mut App, device: &mut Device, link: &mut Link, colours: Colours) -> io::Result<Wish> {
    let (width, height) = device.size();
    let mut stage = Stage { painter: Painter::new(colours, width, height), begun: Instant::now(), wish: None };
    stage.draw(app, device)?;
    stage.tell_text(app, link);
    let mut beat = interval(BEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut glance = interval(GLANCE);
    glance.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut due: Option<Instant> = None;
    let mut drawn = Instant::now();
    let mut is_open = true;
    loop {
        tokio::select! {
            biased;
            input = device.next() => {
                stage.input(input, app, device, link)?;
                due = Some(Instant::now());
            }
            () = sleep_until(due.unwrap_or(drawn)), if due.is_some() => {
                stage.draw(app, device)?;
                for action in app.measure() {
                    // How large it is a component is told with the next change of size.
                    if let Err(unsent) = link.actions.try_send(action) {
                        app.give_up(&unsent.into_inner());
                    }
                }
                stage.tell_text(app, link);
                drawn = Instant::now();
                due = None;
            }
            report = link.reports.recv(), if is_open => {
                match report {
                    Some(report) => stage.reports(&report, app, link),
                    None => is_open = false,
                }
                due = due.or(Some(drawn + FRAME));
            }
            _ = beat.tick(), if app.is_moving() => due = due.or(Some(drawn + FRAME)),
            _ = glance.tick() => if device.size() != stage.painter.size() {
                due = Some(Instant::now());
            },
        }
        if let Some(wish) = stage.wish.take() {
            // What was being written stays on the screen, as it does in the file.
            app.finish();
            stage.draw(app, device)?;
            let cleared = stage.painter.clear();
            device.write(&cleared)?;
            return Ok(wish);
        }
    }
}

struct Stage {
    painter: Painter,
    begun: Instant,
    wish: Option<Wish>,
}

impl Stage {
    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    fn draw(&mut self, app: &mut App, device: &mut Device) -> io::Result<()> {
        let (width, height) = device.size();
        if (width, height) != self.painter.size() {
            let bytes = self.painter.resize(width, height);
            device.write(&bytes)?;
        }
        let frame = app.frame(width, height, self.now());
        let bytes = self.painter.paint(frame);
        device.write(&bytes)?;
        device.set_title(&app.title())
    }

    fn input(&mut self, input: Input, app: &mut App, device: &mut Device, link: &Link) -> io::Result<()> {
        let actions = match input {
            Input::Key(key) => app.key(key, self.now()),
            Input::Paste(text) => app.paste(&text, self.now()),
            // The next frame has the new size.
            Input::Resize => Vec::new(),
            Input::Terminated => vec![Action::Leave(Wish::Terminated)],
        };
        // Whoever is asked to do something may look at it. Of keys that come by the hundred only the last is told, with the next
        // frame: nobody takes anything between them, and there is to be room for what is wanted.
        if !actions.is_empty() {
            self.tell_text(app, link);
        }
        for action in actions {
            match action {
                Action::Leave(wish) => self.wish = Some(wish),
                Action::Suspend => {
                    let cleared = self.painter.clear();
                    device.write(&cleared)?;
                    device.suspend()?;
                }
                action => {
                    if let Action::Run { command, exposure, written_by: _ } = &action {
                        app.begin_command(command, *exposure, self.now());
                    }
                    if link.actions.try_send(action).is_err() {
                        app.report(&Report::Failed("the session does not take anything now".to_owned()), self.now());
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes a report and all that wait behind it.
    fn reports(&mut self, first: &Report, app: &mut App, link: &mut Link) {
        self.report(first, app);
        for _ in 1..MOST_AT_ONCE {
            let Ok(report) = link.reports.try_recv() else { break };
            self.report(&report, app);
        }
        self.tell_text(app, link);
    }

    /// Tells what stands in the editor, if that is something else.
    fn tell_text(&self, app: &mut App, link: &Link) {
        if let Some(action) = app.changed_text()
            && let Err(unsent) = link.actions.try_send(action)
        {
            app.give_up(&unsent.into_inner());
        }
    }

    fn report(&mut self, report: &Report, app: &mut App) {
        if let Report::Leave(wish) = report {
            self.wish = Some(wish.clone());
        }
        app.report(report, self.now());
    }
}
