//! Owns the watching of a Wayland display, through ext-data-control or the older wlr-data-control. Reads the clipboard only,
//! never the selection that is made by marking text.

use std::env;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::pipe::{PipeFlags, pipe_with};
use wayland_client::globals::{GlobalListContents, registry_queue_init};
use wayland_client::protocol::wl_registry::{self, WlRegistry};
use wayland_client::protocol::wl_seat::WlSeat;
use wayland_client::{
    Connection, Dispatch, DispatchError, EventQueue, Proxy, QueueHandle, delegate_noop,
    event_created_child,
};
use wayland_protocols::ext::data_control::v1::client as ext;
use wayland_protocols_wlr::data_control::v1::client as wlr;

use ext::ext_data_control_device_v1::{self as ext_device, ExtDataControlDeviceV1};
use ext::ext_data_control_manager_v1::ExtDataControlManagerV1;
use ext::ext_data_control_offer_v1::{self as ext_offer, ExtDataControlOfferV1};
use wlr::zwlr_data_control_device_v1::{self as wlr_device, ZwlrDataControlDeviceV1};
use wlr::zwlr_data_control_manager_v1::ZwlrDataControlManagerV1;
use wlr::zwlr_data_control_offer_v1::{self as wlr_offer, ZwlrDataControlOfferV1};

use super::{Eye, Sight, WatchFault, WatchedDisplay, left};

/// The names of texts, the best first.
const TEXTS: [&str; 3] = ["text/plain;charset=utf-8", "UTF8_STRING", "text/plain"];
/// The name that marks a secret.
const SECRET: &str = "x-kde-passwordManagerHint";
/// The most that is read at once, in bytes.
const PIECE: usize = 64 * 1024;

/// A connection to a compositor.
struct WaylandEye {
    queue: EventQueue<Seats>,
    seats: Seats,
    read: Option<WaylandRead>,
}

/// A read under way.
struct WaylandRead {
    pipe: File,
    text: Vec<u8>,
}

/// The part of the compositor that lets programs without a window see the clipboard.
enum DataControl {
    Ext(ExtDataControlManagerV1),
    Wlr(ZwlrDataControlManagerV1),
}

/// A thing that can be read from the clipboard.
#[derive(PartialEq)]
enum DataOffer {
    Ext(ExtDataControlOfferV1),
    Wlr(ZwlrDataControlOfferV1),
}

/// An offer and its names.
struct NamedOffer {
    offer: DataOffer,
    /// The best text by its place in [`TEXTS`].
    text: Option<usize>,
    is_secret: bool,
}

/// The seats of the compositor, and what is copied at them.
struct Seats {
    control: DataControl,
    /// Offers of which it is not known yet what they are for.
    announced: Vec<NamedOffer>,
    copied: Option<NamedOffer>,
    is_changed: bool,
}

/// Opens the display of the environment.
pub(super) fn open() -> Result<WatchedDisplay, WatchFault> {
    let server = Connection::connect_to_env().map_err(WatchFault::unreachable)?;
    let (globals, queue) =
        registry_queue_init::<Seats>(&server).map_err(WatchFault::unreachable)?;
    let handle = queue.handle();
    let ext = globals.bind(&handle, 1..=1, ()).map(DataControl::Ext);
    let (control, by) = match ext {
        Ok(ext) => (ext, "ext-data-control"),
        Err(_) => {
            let wlr = globals.bind(&handle, 1..=1, ()).map(DataControl::Wlr);
            let wlr = wlr.map_err(|_| WatchFault::NoDataControl)?;
            (wlr, "wlr-data-control")
        }
    };
    let seats = Seats {
        control,
        announced: Vec::new(),
        copied: None,
        is_changed: false,
    };
    for global in globals.contents().clone_list() {
        seats.join(globals.registry(), &handle, global.name, &global.interface);
    }
    let name = env::var("WAYLAND_DISPLAY").unwrap_or_default();
    let eye = WaylandEye {
        queue,
        seats,
        read: None,
    };
    Ok(WatchedDisplay {
        name: format!("Wayland, {name}"),
        by: format!("Wayland ({by})"),
        eye: Box::new(eye),
    })
}

impl Eye for WaylandEye {
    fn start(&mut self) -> Result<bool, WatchFault> {
        self.fetch()?;
        Ok(std::mem::take(&mut self.seats.is_changed))
    }

    fn begin(&mut self) -> Result<bool, WatchFault> {
        Ok(self.ask().is_some())
    }

    fn look(&mut self, most: usize) -> Result<Vec<Sight>, WatchFault> {
        let mut seen = Vec::new();
        let pending = self.queue.dispatch_pending(&mut self.seats);
        pending.map_err(WatchFault::unreachable)?;
        if std::mem::take(&mut self.seats.is_changed) {
            self.read = None;
            seen.push(Sight::Changed);
        }
        if let Some(text) = self.read(most) {
            self.read = None;
            seen.push(Sight::Read(text));
        }
        Ok(seen)
    }

    fn fetch(&mut self) -> Result<(), WatchFault> {
        let fetched = self.queue.roundtrip(&mut self.seats);
        fetched.map(drop).map_err(WatchFault::unreachable)
    }

    fn give_up(&mut self) {
        self.read = None;
    }

    fn sleep(&mut self, woken: BorrowedFd<'_>, until: Option<Instant>) -> Result<(), WatchFault> {
        self.queue.flush().map_err(WatchFault::unreachable)?;
        // Where there is none, some event is here already.
        let Some(events) = self.queue.prepare_read() else {
            return Ok(());
        };
        let server = events.connection_fd();
        let pipe = self.read.as_ref().map(|read| read.pipe.as_fd());
        let mut all: Vec<_> = [Some(server), Some(woken), pipe]
            .into_iter()
            .flatten()
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        match poll(&mut all, left(until).as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(WatchFault::unreachable(error)),
        }
        if all[0].revents().is_empty() {
            return Ok(());
        }
        match events.read() {
            Err(wayland_client::backend::WaylandError::Io(error))
                if error.kind() == ErrorKind::WouldBlock =>
            {
                Ok(())
            }
            read => read
                .map(drop)
                .map_err(|error| WatchFault::unreachable(DispatchError::from(error))),
        }
    }
}

impl WaylandEye {
    /// Asks for the text that is copied now; `None` if there is none, or it is secret.
    fn ask(&mut self) -> Option<()> {
        self.read = None;
        let copied = self.seats.copied.as_ref();
        let copied = copied.filter(|copied| !copied.is_secret)?;
        let name = TEXTS[copied.text?].to_owned();
        let (pipe, its) = pipe_with(PipeFlags::CLOEXEC).ok()?;
        // The other end is the business of who writes there.
        fcntl_setfl(&pipe, OFlags::NONBLOCK).ok()?;
        match &copied.offer {
            DataOffer::Ext(offer) => offer.receive(name, its.as_fd()),
            DataOffer::Wlr(offer) => offer.receive(name, its.as_fd()),
        }
        self.read = Some(WaylandRead {
            pipe: pipe.into(),
            text: Vec::new(),
        });
        Some(())
    }

    /// Reads what has come. `None` if there is more to come, and inside `None` if that is no text that may be read.
    fn read(&mut self, most: usize) -> Option<Option<Vec<u8>>> {
        let WaylandRead { pipe, text } = self.read.as_mut()?;
        let mut piece = vec![0; PIECE];
        loop {
            match pipe.read(&mut piece) {
                Ok(0) => return Some(Some(std::mem::take(text))),
                Ok(count) if text.len() + count > most => return Some(None),
                Ok(count) => text.extend(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Some(None),
            }
        }
    }
}

impl Seats {
    /// Listens at a seat, if this is one.
    fn join(
        &self,
        registry: &WlRegistry,
        handle: &QueueHandle<Self>,
        global: u32,
        interface: &str,
    ) {
        if interface != WlSeat::interface().name {
            return;
        }
        let seat: WlSeat = registry.bind(global, 1, handle, ());
        match &self.control {
            DataControl::Ext(control) => drop(control.get_data_device(&seat, handle, ())),
            DataControl::Wlr(control) => drop(control.get_data_device(&seat, handle, ())),
        }
    }

    fn announce(&mut self, offer: DataOffer) {
        self.announced.push(NamedOffer {
            offer,
            text: None,
            is_secret: false,
        });
    }

    /// Notes a name of an offer.
    fn name(&mut self, offer: &DataOffer, name: &str) {
        // Some compositors tell one more when it is copied already.
        let mut all = self.announced.iter_mut().chain(&mut self.copied);
        let Some(offered) = all.find(|offered| offered.offer == *offer) else {
            return;
        };
        offered.is_secret |= name == SECRET;
        let text = TEXTS.iter().position(|text| *text == name);
        offered.text = [offered.text, text].into_iter().flatten().min();
    }

    fn take(&mut self, offer: &DataOffer) -> Option<NamedOffer> {
        let is_it = |offered: &NamedOffer| offered.offer == *offer;
        let at = self.announced.iter().position(is_it)?;
        Some(self.announced.remove(at))
    }

    /// Notes what is copied now. That nothing is any longer, is nothing to know.
    fn copied(&mut self, offer: Option<DataOffer>) {
        let Some(offer) = offer else {
            self.copied = None;
            return;
        };
        self.copied = self.take(&offer);
        self.is_changed = true;
    }

    /// Leaves alone what was only marked.
    fn marked(&mut self, offer: Option<DataOffer>) {
        drop(offer.and_then(|offer| self.take(&offer)));
    }
}

impl Drop for NamedOffer {
    fn drop(&mut self) {
        match &self.offer {
            DataOffer::Ext(offer) => offer.destroy(),
            DataOffer::Wlr(offer) => offer.destroy(),
        }
    }
}

impl Dispatch<WlRegistry, GlobalListContents> for Seats {
    fn event(
        seats: &mut Self,
        registry: &WlRegistry,
        event: wl_registry::Event,
        _: &GlobalListContents,
        _: &Connection,
        handle: &QueueHandle<Self>,
    ) {
        if let wl_registry::Event::Global {
            name, interface, ..
        } = event
        {
            seats.join(registry, handle, name, &interface);
        }
    }
}

delegate_noop!(Seats: ignore WlSeat);
delegate_noop!(Seats: ignore ExtDataControlManagerV1);
delegate_noop!(Seats: ignore ZwlrDataControlManagerV1);

/// Both protocols have the same events under other names.
macro_rules! listens {
    ($variant:ident, $device:ty, $device_events:ident, $offer:ty, $offer_events:ident) => {
        impl Dispatch<$device, ()> for Seats {
            fn event(
                seats: &mut Self,
                device: &$device,
                event: $device_events::Event,
                _: &(),
                _: &Connection,
                _: &QueueHandle<Self>,
            ) {
                match event {
                    $device_events::Event::DataOffer { id } => seats.announce(DataOffer::$variant(id)),
                    $device_events::Event::Selection { id } => {
                        seats.copied(id.map(DataOffer::$variant));
                    }
                    $device_events::Event::PrimarySelection { id } => {
                        seats.marked(id.map(DataOffer::$variant));
                    }
                    $device_events::Event::Finished => device.destroy(),
                    _ => {}
                }
            }

            event_created_child!(Seats, $device, [
                $device_events::EVT_DATA_OFFER_OPCODE => ($offer, ()),
            ]);
        }

        impl Dispatch<$offer, ()> for Seats {
            fn event(
                seats: &mut Self,
                offer: &$offer,
                event: $offer_events::Event,
                _: &(),
                _: &Connection,
                _: &QueueHandle<Self>,
            ) {
                if let $offer_events::Event::Offer { mime_type } = event {
                    seats.name(&DataOffer::$variant(offer.clone()), &mime_type);
                }
            }
        }
    };
}

listens!(
    Ext,
    ExtDataControlDeviceV1,
    ext_device,
    ExtDataControlOfferV1,
    ext_offer
);
listens!(
    Wlr,
    ZwlrDataControlDeviceV1,
    wlr_device,
    ZwlrDataControlOfferV1,
    wlr_offer
);
