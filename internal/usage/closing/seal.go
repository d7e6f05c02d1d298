package closing

import (
	"crypto/sha256"
	"fmt"
	"hash"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
)

var trees = compact.RangeFactory{Hash: rfc6962.DefaultHasher.HashChildren}

// Sums are those of the lines of an export or a month.
type Sums struct {
	Lines, Admitted, Refused int64
	// SHA256 is that of the canonical forms, each with a line feed after it.
	SHA256 Hash
}

// Total sums lines.
type Total struct {
	sums Sums
	hash hash.Hash
}

// NewTotal returns the total of no lines.
func NewTotal() *Total { return &Total{hash: sha256.New()} }

// Add adds a line with its canonical form.
func (t *Total) Add(l *Line, form string) {
	t.sums.Lines++
	t.sums.Admitted += l.Admitted
	t.sums.Refused += l.Refused
	t.hash.Write([]byte(form))
	t.hash.Write([]byte{'\n'})
}

// Sums returns the sums so far.
func (t *Total) Sums() Sums {
	s := t.sums
	t.hash.Sum(s.SHA256[:0])
	return s
}

// Seal computes the root of a month. Its lines come in the order of the tenants' numbers, and for a tenant in the order in which they are
// exported.
type Seal struct {
	tree *compact.Range
	// visit sees every node of the tree; nil for nobody.
	visit compact.VisitFn
	// leaf are the forms of the present tenant, each with a line feed after it.
	leaf   []byte
	tenant int64
}

// NewSeal returns the seal of no lines.
func NewSeal() *Seal { return &Seal{tree: trees.NewEmptyRange(0)} }

// Add adds a line.
func (s *Seal) Add(tenantID int64, form string) error {
	if len(s.leaf) > 0 && tenantID != s.tenant {
		if tenantID < s.tenant {
			return fmt.Errorf("seal a month: tenant %d comes after tenant %d", tenantID, s.tenant)
		}
		if err := s.endTenant(); err != nil {
			return err
		}
	}
	s.tenant = tenantID
	s.leaf = append(append(s.leaf, form...), '\n')
	return nil
}

func (s *Seal) endTenant() error {
	if len(s.leaf) == 0 {
		return nil
	}
	if err := s.tree.Append(rfc6962.DefaultHasher.HashLeaf(s.leaf), s.visit); err != nil {
		return fmt.Errorf("seal a month: %w", err)
	}
	s.leaf = s.leaf[:0]
	return nil
}

// AddLeaf adds a tenant by the hash of its leaf, in place of its lines.
func (s *Seal) AddLeaf(tenantID int64, leaf Hash) error {
	if err := s.endTenant(); err != nil {
		return err
	}
	if tenantID <= s.tenant {
		return fmt.Errorf("seal a month: tenant %d comes after tenant %d", tenantID, s.tenant)
	}
	s.tenant = tenantID
	if err := s.tree.Append(leaf[:], s.visit); err != nil {
		return fmt.Errorf("seal a month: %w", err)
	}
	return nil
}

// Root returns the root of the month and how many tenants it has. No line follows.
func (s *Seal) Root() (root Hash, tenants int64, err error) {
	if err := s.endTenant(); err != nil {
		return Hash{}, 0, err
	}
	if s.tree.End() == 0 {
		return Hash(rfc6962.DefaultHasher.EmptyRoot()), 0, nil
	}
	top, err := s.tree.GetRootHash(nil)
	if err != nil {
		return Hash{}, 0, fmt.Errorf("seal a month: %w", err)
	}
	return Hash(top), int64(s.tree.End()), nil
}

// Prover is a Seal that also keeps what proves one tenant's leaf.
type Prover struct {
	*Seal
	nodes  proof.Nodes
	hashes map[compact.NodeID][]byte
}

// NewProver returns a Prover for the tenant with that index, from 0 on, among the tenants of the month.
func NewProver(index, tenants int64) (*Prover, error) {
	if index < 0 || index >= tenants {
		return nil, fmt.Errorf("prove a tenant: no tenant %d of %d", index, tenants)
	}
	nodes, err := proof.Inclusion(uint64(index), uint64(tenants))
	if err != nil {
		return nil, fmt.Errorf("prove a tenant: %w", err)
	}
	p := &Prover{Seal: NewSeal(), nodes: nodes, hashes: make(map[compact.NodeID][]byte, len(nodes.IDs))}
	for _, id := range nodes.IDs {
		p.hashes[id] = nil
	}
	p.visit = func(id compact.NodeID, hash []byte) {
		if _, wanted := p.hashes[id]; wanted {
			p.hashes[id] = hash
		}
	}
	return p, nil
}

// Path returns the hashes that lead from the tenant's leaf to the root, the nearest first (RFC 9162, section 2.1.3). All lines were added,
// and Root was called.
func (p *Prover) Path() ([]Hash, error) {
	hashes := make([][]byte, len(p.nodes.IDs))
	for i, id := range p.nodes.IDs {
		if hashes[i] = p.hashes[id]; hashes[i] == nil {
			return nil, fmt.Errorf("prove a tenant: the month has fewer tenants than it was sealed with")
		}
	}
	path, err := p.nodes.Rehash(hashes, rfc6962.DefaultHasher.HashChildren)
	if err != nil {
		return nil, fmt.Errorf("prove a tenant: %w", err)
	}
	list := make([]Hash, len(path))
	for i, h := range path {
		list[i] = Hash(h)
	}
	return list, nil
}

// Leaf returns the hash of a tenant's leaf.
func Leaf(forms []string) Hash {
	var text []byte
	for _, form := range forms {
		text = append(append(text, form...), '\n')
	}
	return Hash(rfc6962.DefaultHasher.HashLeaf(text))
}
