module petstore.example/client

go 1.26.0
