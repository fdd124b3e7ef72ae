package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A relay carries frames between a port of the switch, which is off the bridge, and a TAP that takes its place there:
// late, and not all of them. tc's netem would do it in the kernel, which not every kernel has.
type relay struct {
	port, tap *os.File
	delay     time.Duration // one way
	loss      float64
	seed      uint64
	wait      sync.WaitGroup
}

// Frames on their way in one direction at most, as in the buffer of a switch: further ones are lost. Each is up to 64
// KiB, for senders leave the cutting into packets to the interface, which is ours; it comes with a header that says so,
// and is written with it.
const (
	inFlight  = 2048
	frameSize = 10 + 1<<16
)

// newRelay opens the port and makes the TAP. run starts it.
func newRelay(port, tap string, delay time.Duration, loss float64, seed uint64) (*relay, error) {
	i, err := net.InterfaceByName(port)
	if err != nil {
		return nil, err
	}
	p, err := openPort(i.Index)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", port, err)
	}
	t, err := openTap(tap)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make %s: %w", tap, err), p.Close())
	}
	return &relay{port: p, tap: t, delay: delay, loss: loss, seed: seed}, nil
}

// openPort opens a raw socket that reads what arrives at an interface and writes what leaves by it.
func openPort(index int) (*os.File, error) {
	all := uint16(unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8) // in the order of the network
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1),
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 8<<20),
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: index}),
	)
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), "port"), nil
}

// openTap makes an interface whose frames this process reads and writes. It is gone when the file is closed.
func openTap(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	req, err := unix.NewIfreq(name)
	if err == nil {
		req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, req)
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (r *relay) run() {
	r.carry(r.port, r.tap, 1)
	r.carry(r.tap, r.port, 2)
}

// close ends the relay. Frames on their way are lost.
func (r *relay) close() {
	_ = r.port.Close()
	_ = r.tap.Close()
	r.wait.Wait()
}

type frame struct {
	due  time.Time
	data []byte
}

// carry takes frames in one direction until a file is closed. They keep their order.
func (r *relay) carry(from, to *os.File, direction uint64) {
	dice := rand.New(rand.NewPCG(r.seed, direction))
	line := make(chan frame, inFlight)
	r.wait.Go(func() {
		defer close(line)
		buf := make([]byte, frameSize)
		for {
			n, err := from.Read(buf)
			switch {
			case errors.Is(err, os.ErrClosed):
				return
			case err != nil: // the link is down
				time.Sleep(10 * time.Millisecond)
				continue
			case dice.Float64() < r.loss:
				continue
			}
			select {
			case line <- frame{time.Now().Add(r.delay), bytes.Clone(buf[:n])}:
			default:
			}
		}
	})
	r.wait.Go(func() {
		for f := range line {
			time.Sleep(time.Until(f.due))
			_, _ = to.Write(f.data) // a link that is down loses it
		}
	})
}
