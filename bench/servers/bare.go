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
	Path   string // as "/v1/pets"
	Status int
	Body   []byte // nil for a response without a body
}

// BareOptions configure a bare server.
type BareOptions struct {
	Responses []Fixed
	// Found is the response after a look-up of the request's key in Database.
	Found Fixed
	// POST CreatePath and OrderPath, and PATCH ChangePath, write to Database, for Tenant.
	Database string
	Tenant   int64
}

// Paths of a bare server.
const (
	CreatePath = "/v1/pets"
	ChangePath = "/v1/pets/:id"
	OrderPath  = "/v1/store/orders"
	FoundPath  = "/v1/found"
)

// bareHandler is a lower bound for any server with Gin: it writes fixed bytes, or the result of one
// statement.
func bareHandler(config []byte) http.Handler {
	var o BareOptions
	must.Do(json.Unmarshal(config, &o))
	w := newWriter(o)
	engine := newEngine()
	for _, f := range o.Responses {
		engine.GET(f.Path, f.write)
	}
	engine.POST(CreatePath, w.create)
	engine.PATCH(ChangePath, w.change)
	engine.POST(OrderPath, w.order)
	engine.GET(o.Found.Path, func(c *gin.Context) { w.find(c, o.Found) })
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

// poolSize is that of petstore's own pool.
const poolSize = 16

func openPool(url string) *sql.DB {
	db := must.Get(sql.Open("postgres", url))
	db.SetMaxOpenConns(poolSize)
	db.SetMaxIdleConns(poolSize)
	return db
}

// bareWriter is the bare server's statements, one prepared statement for each request: without
// row-level security or an explicit transaction, as a superuser.
type bareWriter struct {
	tenant                             int64
	insert, update, place, ofTheDigest *sql.Stmt
}

func newWriter(o BareOptions) *bareWriter {
	db := openPool(o.Database)
	prepare := func(text string) *sql.Stmt { return must.Get(db.Prepare(text)) }
	return &bareWriter{
		tenant: o.Tenant,
		insert: prepare(`
			insert into pets (tenant_id, name, category_id, status, created_at)
			values ($1, $2, $3, $4, now()) returning id`),
		update: prepare(`
			update pets set name = $3 where tenant_id = $1 and id = $2
			returning id, category_id, status`),
		place: prepare(`
			with held as (
			  update pets set status = 'pending' where tenant_id = $1 and id = $2 and status = 'available' returning id
			)
			insert into orders (tenant_id, pet_id, quantity, status, created_at)
			select $1, id, $3, 'placed', now() from held
			returning id, status, created_at`),
		ofTheDigest: prepare(`select tenant_id from api_keys where digest = $1 and revoked_at is null`),
	}
}

// create is a minimal POST /v1/pets.
func (w *bareWriter) create(c *gin.Context) {
	var pet catalog.Pet
	if !bound(c, &pet) {
		return
	}
	err := w.insert.QueryRowContext(c.Request.Context(), w.tenant, pet.Name, pet.CategoryID, pet.Status).Scan(&pet.ID)
	respond(c, http.StatusCreated, &pet, err)
}

// change is a minimal PATCH /v1/pets/{petId}.
func (w *bareWriter) change(c *gin.Context) {
	var pet catalog.Pet
	if !bound(c, &pet) {
		return
	}
	err := w.update.QueryRowContext(
		c.Request.Context(),
		w.tenant,
		c.Param("id"),
		pet.Name,
	).Scan(
		&pet.ID,
		&pet.CategoryID,
		&pet.Status,
	)
	respond(c, http.StatusOK, &pet, err)
}

// order is a minimal POST /v1/store/orders.
func (w *bareWriter) order(c *gin.Context) {
	order := catalog.Order{Quantity: catalog.DefaultQuantity}
	if !bound(c, &order) {
		return
	}
	err := w.place.QueryRowContext(
		c.Request.Context(),
		w.tenant,
		order.PetID,
		order.Quantity,
	).Scan(
		&order.ID,
		&order.Status,
		&order.CreatedAt,
	)
	order.CreatedAt = order.CreatedAt.UTC()
	respond(c, http.StatusCreated, &order, err)
}

// find writes a fixed response after it has found whose the key is.
func (w *bareWriter) find(c *gin.Context, f Fixed) {
	digest := sha256.Sum256([]byte(strings.TrimPrefix(c.GetHeader("Authorization"), "Bearer ")))
	var tenant int64
	if err := w.ofTheDigest.QueryRowContext(c.Request.Context(), digest[:]).Scan(&tenant); err != nil {
		c.String(http.StatusUnauthorized, err.Error())
		return
	}
	f.write(c)
}

// bound reads the request's body. If it can't, it responds and returns false.
func bound(c *gin.Context, into any) bool {
	err := c.ShouldBindJSON(into)
	if err != nil {
		c.String(http.StatusBadRequest, err.Error())
	}
	return err == nil
}

func respond(c *gin.Context, status int, body any, err error) {
	if err != nil {
		c.String(http.StatusInternalServerError, err.Error())
		return
	}
	c.JSON(status, body)
}
