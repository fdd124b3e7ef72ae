package limit

// Remembered says how many hosts h holds a memory of.
func (h *Hosts) Remembered() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.hosts)
}
