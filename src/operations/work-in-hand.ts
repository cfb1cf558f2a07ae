/** Knows whether requests are being worked on, also those whose client has hung up. */
export class WorkInHand {
  #count = 0;
  #whenNone: (() => void) | undefined;

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count === 0) {
      this.#whenNone?.();
    }
  }

  /** Resolves when nothing is being worked on: then the database may go. */
  async finish(): Promise<void> {
    if (this.#count > 0) {
      await new Promise<void>((resolve) => {
        this.#whenNone = resolve;
      });
    }
  }
}
