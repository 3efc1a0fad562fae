import type { Dialect } from './agent-dialect.ts'

/** The names of Troupe's own tools. */
export const BUILT_IN_TOOLS: readonly string[] = [
  ...['Read', 'Write', 'Edit', 'Glob', 'Grep', 'Bash', 'LSP'],
  ...['TaskCreate', 'TaskGet', 'TaskUpdate', 'TaskList'],
  ...['WebFetch', 'WebSearch', 'EnterPlanMode', 'ExitPlanMode'],
  ...['task', 'task_result', 'collaborate', 'ask_user', 'ArtifactWrite', 'ArtifactRead'],
  ...['consult', 'consult_result', 'rate_consultation', 'team', 'build'],
]

/** The tool that `Agent(a, b)` in a tool list restricts to some agents. */
export const DELEGATION_TOOL = 'task'

/** Other names of tools. */
export const NAME_ONLY_TOOLS: readonly string[] = ['Task', 'Agent']

const TASK_TOOLS = ['TaskCreate', 'TaskGet', 'TaskUpdate', 'TaskList']

/**
 * Normalized tool names of other products. An alias never grants more than the original tool: one that only runs tests or
 * only edits notebooks has no entry.
 */
const ALIASES: readonly (readonly [tools: readonly string[], aliases: string])[] = [
  [['Read'], 'readfile fileread view open notebookread readmanyfiles read/readfile read/getnotebooksummary'],
  [['Write'], 'writefile filewrite createfile writetofile edit/createfile'],
  [['Edit'], 'multiedit editfile replace strreplace searchreplace'],
  [['Edit', 'Write'], 'editfiles edit/editfiles inserteditintofile strreplaceeditor applypatch'],
  [['Glob'], 'ls list listdir listdirectory listfiles findfiles filesearch search/filesearch search/listdirectory'],
  [['Grep'], 'grepsearch textsearch searchfiles ripgrep rg search/textsearch search/searchresults searchresults'],
  [['Grep', 'Glob'], 'search codebase search/codebase codesearch'],
  [['Bash'], 'shell execute terminal runcommand runcommands executecommand runshellcommand runterminalcommand'],
  [['Bash'], 'runinterminal execute/runinterminal runcommands/runinterminal'],
  [['LSP'], 'problems read/problems usages search/usages getdiagnostics getproblems listcodeusages'],
  [['WebFetch'], 'fetch fetchurl fetchwebpage web/fetch'],
  [['WebSearch'], 'websearchtool googlewebsearch googlesearch searchweb'],
  [['WebFetch', 'WebSearch'], 'web'],
  [['task'], 'agent subagent customagent runsubagent agent/runsubagent delegate spawnagent'],
  [['task_result'], 'taskoutput agentoutput agentoutputtool'],
  [['ask_user'], 'askuserquestion askquestions vscode/askquestions askfollowupquestion'],
  [TASK_TOOLS, 'todo todos todowrite managetodolist updatetodolist'],
  [['TaskList', 'TaskGet'], 'todoread'],
  // Amplifier: one module provides several tools.
  [['Read', 'Write', 'Edit', 'Glob'], 'toolfilesystem'],
  [['Grep', 'Glob'], 'toolsearch'],
  [['Grep'], 'toolgrep'],
  [['Glob'], 'toolglob'],
  [['Bash'], 'toolbash toolshell'],
  [['WebFetch', 'WebSearch'], 'toolweb'],
  [['task'], 'tooltask tooldelegate'],
  [['collaborate'], 'toolcollaborative'],
  [TASK_TOOLS, 'tooltodo'],
  [['LSP'], 'toollsp'],
  // CrewAI: tool classes.
  [['Read'], 'filereadtool'],
  [['Write'], 'filewritertool filewritetool'],
  [['Glob'], 'directoryreadtool'],
  [['Grep', 'Glob'], 'directorysearchtool'],
  [['Read', 'Grep'], 'txtsearchtool mdxsearchtool jsonsearchtool csvsearchtool xmlsearchtool'],
  [['WebSearch'], 'serperdevtool bravesearchtool exasearchtool tavilysearchtool serpapigooglesearchtool'],
  [['WebSearch'], 'websitesearchtool linkupsearchtool firecrawlsearchtool duckduckgosearchtool serplywebsearchtool'],
  [['WebFetch'], 'scrapewebsitetool firecrawlscrapewebsitetool seleniumscrapingtool jinascrapewebsitetool'],
  [['WebFetch'], 'scrapeelementfromwebsitetool tavilyextractortool extractcontent'],
]

const TOOLS_BY_ALIAS = new Map(
  ALIASES.flatMap(([tools, aliases]) => aliases.split(' ').map((alias) => [alias, tools] as const)),
)

/** Tool sets of editors; `name/…` with any other name is a tool of an MCP server. */
const EDITOR_SET_NAMES = 'agent browser edit execute new read runcommands runnotebooks runtasks search todo vscode web'
const EDITOR_TOOL_SETS = new Set(EDITOR_SET_NAMES.split(' '))

interface ToolNameOptions {
  dialect: Dialect
  known: readonly string[]
  restricts?: true | undefined
}

/** Maps a tool name of a file to Troupe's tools; `undefined` when it is unknown. MCP tools keep their names. */
export function resolveToolNames(name: string, options: ToolNameOptions): readonly string[] | undefined {
  const meant = findToolNames(name, options)
  const builtIn = options.restricts && findToolNames(name, { ...options, known: [] })
  return meant && builtIn ? [...new Set([...meant, ...builtIn])] : meant
}

function findToolNames(name: string, { dialect, known }: ToolNameOptions): readonly string[] | undefined {
  if (known.includes(name) || BUILT_IN_TOOLS.includes(name)) return [name]
  if (/^mcp__[\w.*-]+$/.test(name)) return [name]
  const normalized = normalizeToolName(name)
  if (dialect === 'copilot' && normalized === 'edit') return ['Edit', 'Write']
  const tool = [...BUILT_IN_TOOLS, ...known].find((each) => normalizeToolName(each) === normalized)
  if (tool !== undefined) return [tool]
  const aliased = TOOLS_BY_ALIAS.get(normalized)
  if (aliased) return aliased
  const [server = '', ...rest] = name.split('/')
  const isServerTool = rest.length > 0 && rest.every((part) => part !== '') && /^[\w@]/.test(server)
  return isServerTool && !EDITOR_TOOL_SETS.has(normalizeToolName(server)) ? [name] : undefined
}

function normalizeToolName(name: string): string {
  return name.toLowerCase().replace(/[\s_-]/g, '')
}
