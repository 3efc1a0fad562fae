import { defineConfig } from 'vitest/config'
import { sharedOptions } from '../vitest-options.ts'

/** The tests with real MCP servers: `npm run test:mcp`. */
export default defineConfig({
  ...sharedOptions,
  test: { ...sharedOptions.test, include: ['test/mcp/real-servers.ts'], hookTimeout: 300_000 },
})
