import { expect, test } from 'vitest'
import { lintRules, validateRules } from './rule-lint.ts'

const context = {
  tools: ['Read', 'Write', 'Bash', 'WebFetch', 'WebSearch', 'TaskList', 'task', 'Task'],
  plain: ['TaskList'],
  agents: ['doer', 'troupe:doer'],
  servers: ['mcp__files__'],
}
const lint = (rule: string) => lintRules({ deny: [rule] }, context)[0]?.reason

test.each([
  ['Bassh(x)', /no tool/],
  ['mcp__fils__read', /no MCP server/],
  ['TaskList(x)', /takes no pattern/],
  ['Bash(cd x && rm:*)', /one command at a time/],
  ['Bash(echo $HOME)', /substitution/],
  ['WebFetch(https://evil.com/path)', /only the host/],
  ['WebFetch(domain:evil com)', /not a valid host name/],
  ['WebSearch(domain:evil.com)', /for WebFetch only/],
  ['Write(domain:evil.com)', /for WebFetch only/],
  ['Write(~/x)', /~ is not expanded/],
  ['Write(../x)', /inside the workspace only/],
  ['Write(//x)', /inside the workspace only/],
  ['Write(/etc/**)', /matches etc/],
  ['Write(file:///x)', /a URL/],
  ['Write(C:\\x\\**)', /inside the workspace only/],
  ['Write(src\\a)', /write \/ between folders/],
  ['task(stranger)', /no agent has the name 'stranger'/],
])('PM32 the rule %s gets a warning', (rule, reason) => {
  expect(lint(rule)).toMatch(reason)
})

test.each([
  ...['Write(src/**)', 'Write(/secrets/**)', 'Write({*.pem,*.key})', 'Write(\\[x])', 'Bash(npm test:*)', 'Bash', '*'],
  ...[
    'WebFetch(domain:*.evil.com)',
    'WebFetch(https://evil.com/*)',
    'WebFetch(domain:bücher.de)',
    'mcp__files',
    'mcp__files__*',
  ],
  ...['mcp__files__read', 'Task(doer)', 'task(troupe:doer)', 'task(self)', 'task(*-er)', 'TaskList', 'mcp__*'],
])('PM32 the rule %s gets no warning', (rule) => {
  expect(lint(rule)).toBeUndefined()
})

test('PM32 a rule with an invalid pattern throws invalid_input', () => {
  expect(() => validateRules({ deny: ['Write({a,b)'] })).toThrow(/does not close/)
  expect(() => validateRules({ allow: ['Bash(rm:*'] })).toThrow(/not a permission rule/)
  expect(() => validateRules({ ask: ['Bash({a)', 'mcp__x__y({"a":1})'] })).not.toThrow()
})
