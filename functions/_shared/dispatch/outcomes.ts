/** Attempts of this process to send, by outcome, for metrics. */
export const outcomes: Record<string, number> = {};

export function countOutcome(outcome: string): void {
  outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
}
