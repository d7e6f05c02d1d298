package redisbackend

import (
	"encoding/binary"
	"math"
	"strconv"

	"petstore.example/internal/limits"
	"petstore.example/internal/limits/distributed"
)

const (
	numberSize = 8
	// requestSize is the size of a request as take.lua reads it, tenantSize and keySize of what it returns of a tenant and of a key.
	requestSize = 7 * numberSize
	tenantSize  = 7 * numberSize
	keySize     = 3 * numberSize
)

// packTake returns the keys and the argument of take.lua.
func packTake(term int64, requests []distributed.Request) (keys []string, args []byte) {
	keys = make([]string, 0, 2*len(requests))
	args = appendPacked(make([]byte, 0, numberSize+requestSize*len(requests)), term)
	for i := range requests {
		r := &requests[i]
		keys = appendClaimKeys(keys, &r.Claim)
		var again int64
		if r.SameTenant {
			again = 1
		}
		q := &r.Claim.Quota
		args = appendPacked(args, r.Minute, r.Day, q.PerMinute, q.PerDay, r.Claim.KeyPerMinute, r.Count, again)
	}
	return keys, args
}

// unpackTake sets the replies from that of take.lua, which is what Redis had before each request.
func unpackTake(reply []byte, term int64, requests []distributed.Request) error {
	for i := range requests {
		r := &requests[i]
		size := tenantSize
		if r.Claim.KeyPerMinute > 0 {
			size += keySize
		}
		if len(reply) < size {
			return errUnexpected
		}
		r.Reply = replyTo(r, term, reply[:size])
		reply = reply[size:]
	}
	if len(reply) > 0 {
		return errUnexpected
	}
	return nil
}

// replyTo decides over the request as take.lua did, from what that returned.
func replyTo(r *distributed.Request, term int64, before []byte) distributed.Reply {
	if number(before, 0) != term {
		return distributed.Reply{Status: distributed.Uninitialized}
	}
	p := distributed.Reply{Version: number(before, 1), InMinute: number(before, 2), InDay: number(before, 4)}
	p.Used.Minute, p.Used.Day = number(before, 3), number(before, 5)
	if p.InMinute < r.Minute {
		p.InMinute, p.Used.Minute = r.Minute, 0
	}
	if p.InDay < r.Day {
		p.InDay, p.Used.Day = r.Day, 0
	}
	if r.Claim.KeyPerMinute > 0 {
		if own := before[tenantSize:]; number(own, 0) == term && number(own, 1) == p.InMinute {
			p.Used.Key = number(own, 2)
		} else if number(before, 6) == p.InMinute {
			return distributed.Reply{Status: distributed.KeyUninitialized}
		}
	}
	return p
}

// number returns the i-th of packed numbers.
func number(packed []byte, i int) int64 {
	return int64(math.Float64frombits(binary.LittleEndian.Uint64(packed[numberSize*i:])))
}

// pack packs numbers as the scripts read them. Beyond 2^53 they are rounded, which concerns only limits that nobody reaches.
func pack(numbers ...int64) []byte {
	return appendPacked(make([]byte, 0, numberSize*len(numbers)), numbers...)
}

func appendPacked(b []byte, numbers ...int64) []byte {
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(float64(n)))
	}
	return b
}

// tenantKey names a tenant's state.
func tenantKey(tenantID int64) string { return "pst:{" + strconv.FormatInt(tenantID, 10) + "}" }

// ownKey names a key's own minute. It begins with the tenant's name, so that a cluster has both on one node, where a script reaches them.
func ownKey(tenantID int64, keyID string) string { return tenantKey(tenantID) + ":k:" + keyID }

func appendClaimKeys(keys []string, c *limits.Claim) []string {
	keys = append(keys, tenantKey(c.TenantID))
	if c.KeyPerMinute > 0 {
		keys = append(keys, ownKey(c.TenantID, c.KeyID))
	}
	return keys
}
