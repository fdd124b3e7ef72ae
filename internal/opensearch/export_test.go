package opensearch

// SetPartSize sets the bytes of a bulk request.
func (e *Engine) SetPartSize(n int) { e.partSize = n }
