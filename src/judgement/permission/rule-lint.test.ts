import { expect, test } from 'vitest'
import { lintRules, validateRules } from './rule-lint.ts'

const terms = {
  tools: ['Read', 'Write', 'Bash', 'WebFetch', 'WebSearch', 'TaskList', 'task', 'Task'],
  plain: ['TaskList'],
  agents: ['doer', 'troupe:doer'],
  servers: ['mcp__files__'],
}
const why = (rule: string) => lintRules({ deny: [rule] }, terms)[0]?.reason

test.each([
  ['Bassh(x)', /no tool/],
  ['mcp__fils__read', /no server/],
  ['TaskList(x)', /not told apart/],
  ['Bash(cd x && rm:*)', /one command at a time/],
  ['Bash(echo $HOME)', /substitution/],
  ['WebFetch(https://evil.com/path)', /only the host/],
  ['WebFetch(domain:evil com)', /no host/],
  ['WebSearch(domain:evil.com)', /for WebFetch only/],
  ['Write(domain:evil.com)', /for WebFetch only/],
  ['Write(~/x)', /no home/],
  ['Write(../x)', /never leave the workspace/],
  ['Write(//x)', /never leave the workspace/],
  ['Write(/etc/**)', /taken as etc/],
  ['Write(file:///x)', /an address/],
  ['Write(C:\\x\\**)', /never leave/],
  ['Write(src\\a)', /separated by/],
  ['task(nobody)', /no agent is called nobody/],
])('PM32 the rule %s is told of', (rule, reason) => {
  expect(why(rule)).toMatch(reason)
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
])('PM32 the rule %s is fine', (rule) => {
  expect(why(rule)).toBeUndefined()
})

test('PM32 a pattern that nobody can read is no rule', () => {
  expect(() => validateRules({ deny: ['Write({a,b)'] })).toThrow(/does not close/)
  expect(() => validateRules({ allow: ['Bash(rm:*'] })).toThrow(/not a permission rule/)
  expect(() => validateRules({ ask: ['Bash({a)', 'mcp__x__y({"a":1})'] })).not.toThrow()
})
