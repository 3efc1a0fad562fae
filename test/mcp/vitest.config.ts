import { fileURLToPath } from 'node:url'
import { defineConfig, mergeConfig } from 'vitest/config'
import shared from '../../vitest.config.ts'

/** The tests with real MCP servers: `npm run test:mcp`. */
export default mergeConfig(
  { ...shared, test: { ...shared.test, include: [] } },
  defineConfig({
    root: fileURLToPath(new URL('../..', import.meta.url)),
    test: { include: ['test/mcp/real-servers.ts'], hookTimeout: 300_000 },
  }),
)
