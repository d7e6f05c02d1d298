module.exports = {
  petstore: {
    input: process.env.DOCUMENT,
    output: {
      target: "generated/orval.ts",
      client: "fetch",
      headers: true,
      override: { mutator: { path: "request.ts", name: "request", extension: ".js" } },
    },
  },
};
