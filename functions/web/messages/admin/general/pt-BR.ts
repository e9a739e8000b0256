import type { GeneralMessages } from "./en.ts";

export const ptBR: GeneralMessages = {
  title: "Geral",
  board: "Quadro",
  name: "Nome",
  slug: "Nome curto",
  slugHint:
    "O nome nos endereços, como /o/meu-quadro. Se você o mudar, os links com o antigo deixam de funcionar.",
  visibility: "Visibilidade",
  visibilityHint: "Quando um quadro se torna privado, quem não é da equipe perde o acesso imediatamente.",
  visibilities: {
    public: "Público: todos podem ler",
    private: "Privado: só a equipe vê",
  },
  indexing: "Os buscadores podem listar as páginas",
  indexingHint: "Vale apenas para um quadro público.",
  language: "Idioma padrão",
  languageHint: "Das páginas, para visitantes cuja conta e navegador não indicam nenhum dos oito idiomas.",
  timeZone: "Fuso horário",
  timeZoneHint: "Define quando começam e terminam os dias da visão geral.",
  participation: "Participação",
  anonymous: "Usuários anônimos podem",
  anonymousHint: "Usuários que um aplicativo conectou sem conta própria.",
  rights: {
    read: "Ler",
    vote: "Ler, votar e seguir",
    participate: "Participar como os demais",
  },
  approval: "Conteúdo novo precisa de aprovação",
  approvalHint:
    "O que pessoas de fora da equipe escrevem espera na caixa de entrada até um administrador aprovar.",
  trustAfter: "Confiar após este número de aprovações",
  trustAfterHint: "O conteúdo desse autor não precisa mais de aprovação. De 1 a 1000; vazio para nunca.",
  save: "Salvar",
  done: {
    saved: "As configurações foram salvas.",
  },
};
