package realtime

import "time"

// offRetry is how long a client is told to leave streams alone.
const offRetry = 30 * time.Second

// Configure puts other options in force, for connections that are open, too.
// With Off the hub takes no more of them, and says goodbye to some of those that
// are open each time that it is called: whoever is closed at once is back at
// once.
func (h *Hub) Configure(o Options) {
	o.setDefaults()
	if before := h.options.Swap(&o); before.Rows != o.Rows {
		h.lookAll()
	}
	h.pace.set(o.Window, o.MaxWindow, o.Lag)
	if o.Off {
		h.dismiss(offShare(h))
	}
}

// lookAll has every board shown again as the options say.
func (h *Hub) lookAll() {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, b := range h.boards {
		b.mu.Lock()
		known := b.latest != nil // or it is being read for the first time
		b.mu.Unlock()
		if known {
			h.look(b)
		}
	}
}

// offShare is how many connections end at once while the hub is off.
func offShare(h *Hub) int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return len(h.conns)/5 + 20
}
