package limit

// Remembered says how many hosts h holds a memory of.
func (h *Hosts) Remembered() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.hosts)
}

// Remembered says how many callers r holds a memory of.
func (r *Rate) Remembered() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.own)
}

// Remembered says how many hosts v holds a memory of.
func (v *Visits) Remembered() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.hosts)
}

// Remembered says how many keys f holds a memory of.
func (f *Flow) Remembered() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.keys)
}
