/** The grammar of names for tools that external servers provide, such as `mcp__files__read`. */
export interface ServerToolNames {
  /** True for a tool that is known only once its server has started. */
  isServerTool(name: string): boolean
  /** Selects the registered server tools that a name in an agent's list stands for; `undefined` when it is no such name. */
  selector(name: string): ((registered: string) => boolean) | undefined
}
