/** The configuration file of `troupe init`: valid as it is, with the most used keys. */
export const STARTER_CONFIG = `import { defineConfig } from 'troupe'

// Read by programs (createTroupe) and by every troupe command. Flags and options of createTroupe win.
export default defineConfig({
  // The model for agents that name none. Default: chosen from the API keys in the environment.
  // model: 'anthropic/claude-sonnet-4-5',

  // Limits of every run; null removes one. Others: tokens, usd, wall_ms, turns.
  limits: { calls: 200 },

  // Tool calls that need no approval, and calls that are refused. Everything else that acts is asked for.
  permissions: { allow: ['Bash(npm test:*)'], deny: ['Write(.env*)', 'Edit(.env*)'] },

  // Your own tools (defineTool), hooks and patterns (definePattern), and MCP servers.
  // tools: [],
  // hooks: [{ beforeTool: ({ tool }) => (tool === 'WebFetch' ? { deny: 'offline project' } : undefined) }],
  // mcp: { servers: { files: { command: 'npx', args: ['-y', 'SERVER'] } } },

  // Settings of the patterns.
  task: { max_recursion_depth: 1 },
  collaborate: { default_mode: 'parallel', max_agents: 5 },
})
`
