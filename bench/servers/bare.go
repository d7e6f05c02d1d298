package servers

import (
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	_ "github.com/lib/pq" // the driver "postgres"

	"petstore.example/bench/must"
	"petstore.example/internal/catalog"
)

// Fixed is a fixed response.
type Fixed struct {
	Path   string // such as "/v1/pets"
	Status int
	Body   []byte // nil for a response without a body
}

// BareOptions configure a bare server.
type BareOptions struct {
	Responses []Fixed
	// Found is the response after a look-up of the request's key in Database.
	Found Fixed
	// POST CreatePath, POST OrderPath and PATCH ChangePath write to Database. The key's tenant is
	// looked up in memory.
	Database string
	Tenants  map[string]int64
}

// The paths of a bare server.
const (
	CreatePath = "/v1/pets"
	ChangePath = "/v1/pets/:id"
	OrderPath  = "/v1/store/orders"
	FoundPath  = "/v1/found"
)

// bareHandler is a lower bound for any server with Gin. It writes fixed bytes, or the result of one
// prepared statement. The statement runs as a superuser, without row-level security or an explicit
// transaction.
func bareHandler(config []byte) http.Handler {
	var o BareOptions
	must.Do(json.Unmarshal(config, &o))
	w := &bareWriter{o.Tenants, openPool(o.Database + "&timezone=UTC")} // Responses show times in UTC.
	engine := newEngine()
	for _, f := range o.Responses {
		engine.GET(f.Path, f.write)
	}
	engine.POST(CreatePath, w.create())
	engine.PATCH(ChangePath, w.change())
	engine.POST(OrderPath, w.order())
	engine.GET(o.Found.Path, w.find(o.Found))
	return engine
}

func (f Fixed) write(c *gin.Context) {
	if len(f.Body) == 0 {
		c.Status(f.Status)
		return
	}
	c.Data(f.Status, "application/json", f.Body)
}

func newEngine() *gin.Engine {
	gin.SetMode(gin.ReleaseMode)
	return gin.New()
}

// poolSize is the size of petstore's own pool.
const poolSize = 16

func openPool(url string) *sql.DB {
	db := must.Get(sql.Open("postgres", url))
	db.SetMaxOpenConns(poolSize)
	db.SetMaxIdleConns(poolSize)
	return db
}

// bareWriter makes the handlers that run a statement.
type bareWriter struct {
	tenants map[string]int64
	db      *sql.DB
}

func keyOf(c *gin.Context) string { return strings.TrimPrefix(c.GetHeader("Authorization"), "Bearer ") }

// write is a minimal write. It reads the body, runs the statement with the key's tenant and the
// arguments, scans the result, and responds with the body made of it.
func (w *bareWriter) write(c *gin.Context, s *sql.Stmt, status int, body any, args func() []any, result ...any) {
	tenant, ok := w.tenants[keyOf(c)]
	if err := c.ShouldBindJSON(body); err != nil || !ok {
		c.String(http.StatusBadRequest, "there is no such tenant, or %v", err)
		return
	}
	err := s.QueryRowContext(c.Request.Context(), append([]any{tenant}, args()...)...).Scan(result...)
	if err != nil {
		c.String(http.StatusInternalServerError, err.Error())
		return
	}
	c.JSON(status, body)
}

// create is a minimal POST /v1/pets.
func (w *bareWriter) create() gin.HandlerFunc {
	insert := must.Get(w.db.Prepare(`
		insert into pets (tenant_id, name, category_id, status, created_at)
		values ($1, $2, $3, $4, now()) returning id`))
	return func(c *gin.Context) {
		var pet catalog.Pet
		args := func() []any { return []any{pet.Name, pet.CategoryID, pet.Status} }
		w.write(c, insert, http.StatusCreated, &pet, args, &pet.ID)
	}
}

// change is a minimal PATCH /v1/pets/{petId}.
func (w *bareWriter) change() gin.HandlerFunc {
	update := must.Get(w.db.Prepare(`
		update pets set name = $3 where tenant_id = $1 and id = $2 returning id, category_id, status`))
	return func(c *gin.Context) {
		var pet catalog.Pet
		args := func() []any { return []any{c.Param("id"), pet.Name} }
		w.write(c, update, http.StatusOK, &pet, args, &pet.ID, &pet.CategoryID, &pet.Status)
	}
}

// order is a minimal POST /v1/store/orders.
func (w *bareWriter) order() gin.HandlerFunc {
	place := must.Get(w.db.Prepare(`
		with held as (
		  update pets set status = 'pending' where tenant_id = $1 and id = $2 and status = 'available' returning id
		)
		insert into orders (tenant_id, pet_id, quantity, status, created_at)
		select $1, id, $3, 'placed', now() from held returning id, status, created_at`))
	return func(c *gin.Context) {
		order := catalog.Order{Quantity: catalog.DefaultQuantity}
		args := func() []any { return []any{order.PetID, order.Quantity} }
		w.write(c, place, http.StatusCreated, &order, args, &order.ID, &order.Status, &order.CreatedAt)
	}
}

// find writes a fixed response after it has found the key's tenant.
func (w *bareWriter) find(f Fixed) gin.HandlerFunc {
	ofDigest := must.Get(w.db.Prepare(`select tenant_id from api_keys where digest = $1 and revoked_at is null`))
	return func(c *gin.Context) {
		digest := sha256.Sum256([]byte(keyOf(c)))
		var tenant int64
		if err := ofDigest.QueryRowContext(c.Request.Context(), digest[:]).Scan(&tenant); err != nil {
			c.String(http.StatusUnauthorized, err.Error())
			return
		}
		f.write(c)
	}
}
