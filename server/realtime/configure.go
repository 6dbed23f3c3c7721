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
	h.options.Store(&o)
	h.pace.set(o.Window, o.MaxWindow, o.Lag)
	if o.Off {
		h.dismiss(offShare(h))
	}
}

// offShare is how many connections end at once while the hub is off.
func offShare(h *Hub) int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return len(h.conns)/5 + 20
}
