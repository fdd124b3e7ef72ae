package place

// BoroughAt asks the second layer alone.
func BoroughAt(lat, lon float64) (Neighbourhood, bool) {
	return atlas().boroughs.at(point{x: lon, y: lat})
}

// Load parses the polygons again, to measure that.
func Load() int { return len(load().all) }

// InRings is the even-odd test over rings given as longitude, latitude.
func InRings(lat, lon float64, polygon [][][2]float64) bool {
	a := newArea(Neighbourhood{}, [][][][2]float64{polygon})
	return a.has(point{x: lon, y: lat})
}
